"""Count the two-input gates of arithmetic operations, by the width of the numbers.

AND, OR, NAND, NOR and implications count one, XOR and XNOR three, NOT nothing. The formulas are
the paper's. Like the paper, they ignore rounding and the special values of floating point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dln.errors import OptionError


def equality(n: int) -> int:
    """Count the gates that test whether two n-bit words are equal: n XNORs joined by ANDs.

    >>> equality(1), equality(16)
    (3, 63)
    """
    return 4 * n - 1


def comparison(n: int) -> int:
    """Count the gates that test whether one n-bit word is greater than another.

    >>> comparison(16)
    183
    """
    return 3 * n + (n - 1) + n * (n - 1) // 2


def addition(n: int) -> int:
    """Count the gates of an n-bit sum or difference: a half-adder of 5, then full adders of 9.

    >>> addition(16)
    140
    """
    return 5 + 9 * (n - 1)


def multiplication(n: int) -> int:
    """Count the gates of an n-bit product.

    >>> multiplication(16)
    2361
    """
    return n**2 + 9 * n**2 - 13 * n + 9


def division(n: int) -> int:
    """Count the gates of an n-bit quotient: n + 1 rounds of a comparison and a subtraction.

    >>> division(16)
    5491
    """
    return (n + 1) * (comparison(n) + addition(n))


def logarithm(n: int) -> int:
    """Count the gates of an n-bit logarithm: n² rounds of an addition and a multiplication.

    >>> logarithm(11)
    141691
    """
    return n**2 * (addition(n) + multiplication(n))


def bit_sum(n_bits: int) -> int:
    """Count the gates that add up n_bits single bits.

    >>> bit_sum(3)
    42
    """
    return 14 * n_bits


@dataclass(frozen=True)
class FloatFormat:
    """A floating-point format: the bits of the exponent and of the significand.

    The significand includes its implicit leading 1.

    >>> half = FloatFormat(exponent=5, significand=11)
    >>> half.comparison, half.addition, half.multiplication, half.division, half.logarithm
    (183, 124, 1120, 2360, 141980)
    """

    exponent: int
    significand: int

    @property
    def comparison(self) -> int:
        """Gates to compare two numbers as words; the sign bit takes the place of the leading 1."""
        return comparison(self.exponent + self.significand)

    @property
    def addition(self) -> int:
        """Gates of a sum or difference: compare the exponents, add the significands."""
        return comparison(self.exponent) + addition(self.significand)

    @property
    def multiplication(self) -> int:
        """Gates of a product: XOR the signs, add the exponents, multiply the significands."""
        return equality(1) + addition(self.exponent) + multiplication(self.significand)

    @property
    def division(self) -> int:
        """Gates of a quotient: XOR the signs, subtract the exponents, divide the significands."""
        return equality(1) + addition(self.exponent) + division(self.significand)

    @property
    def logarithm(self) -> int:
        """Gates of a logarithm: log of the significand, plus a multiple of the exponent."""
        return (
            multiplication(self.exponent) + logarithm(self.significand) + addition(self.significand)
        )


FLOATS: Mapping[int, FloatFormat] = {
    16: FloatFormat(5, 11),
    32: FloatFormat(8, 24),
    64: FloatFormat(11, 53),
}
"""The IEEE 754 formats by their width in bits."""

INTS = (8, 16, 32, 64)
"""The widths that an integer may have, in bits."""


@dataclass(frozen=True)
class Widths:
    """The bits of floating-point numbers and integers, in arithmetic and in storage."""

    float_bits: int
    int_bits: int

    def __post_init__(self) -> None:
        for name, bits, known in (
            ("float_bits", self.float_bits, tuple(FLOATS)),
            ("int_bits", self.int_bits, INTS),
        ):
            if bits not in known:
                listed = ", ".join(map(str, known))
                raise OptionError(f"{name} is {bits!r}; it must be one of {listed}")

    @cached_property
    def number(self) -> FloatFormat:
        """The floating-point format, which counts the gates of its arithmetic."""
        return FLOATS[self.float_bits]

    def bytes_of(self, *, floats: int = 0, ints: int = 0) -> int:
        """Count the bytes that store this number of floats and integers."""
        return (floats * self.float_bits + ints * self.int_bits) // 8
