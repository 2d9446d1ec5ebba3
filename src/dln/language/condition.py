"""One line of text -> the condition that it states.

Conditions are joined by one word, "and" or "or"; "xor" joins two. Different words need parentheses:
nobody should have to know which of them binds tighter. The grammar is in
docs/reference/rules-language.md.
"""

from __future__ import annotations

import re

from dln._util.messages import list_names, no_such_name
from dln.core.literals import Above, Column, Missing, format_name
from dln.language.comparison import compare, read_choice, read_comparison, read_value, value_of
from dln.language.expression import Always, Condition, Joined, PartName, Test, Word, negate
from dln.language.scanner import Scanner

_MOST_NESTED = 100
_WORD: dict[str, Word] = {"and": "and", "or": "or", "xor": "xor"}
_JOIN = re.compile(r"(and|or|xor)(?=[\s()]|$)")
_NOT = re.compile(r"not(?=[\s(])")
_CONSTANT = re.compile(r"(always|never)(?=[\s)]|$)")
_UNNAMED = re.compile(r"\(unnamed\)")
_OPEN, _CLOSE = re.compile(r"\("), re.compile(r"\)")
_SIGN = re.compile(r"<=|>=|!=|==?|<|>")
_IN = re.compile(r"(not\s+)?in(?=\s*\{)")
_MISSING = re.compile(r"is\s+(not\s+)?missing(?=[\s)]|$)")
_END_OF_NAME = re.compile(
    r"\s*(?:<|>|!=|=)|\s+(?:not\s+)?in\s*\{|\s+is\s+(?:not\s+)?missing(?=[\s)]|$)"
    r"|\s+(?:and|or|xor)(?=[\s()]|$)"
)


class ConditionReader:
    """Reads conditions on the columns of one table; `parts` are names that may be used."""

    def __init__(self, columns: tuple[Column, ...], parts: frozenset[str] = frozenset()) -> None:
        self._columns = columns
        self._numbers = {column.name: number for number, column in enumerate(columns)}
        self._parts = parts
        self._depth = 0

    def read(self, scanner: Scanner) -> Condition:
        """Read a condition up to the end of the line."""
        condition = self._chain(scanner)
        if not scanner.is_at_end:
            raise scanner.error("expected and, or, xor or the end of the rule")
        return condition

    def _chain(self, scanner: Scanner) -> Condition:
        parts = [self._operand(scanner)]
        word: Word | None = None
        while True:
            start = scanner.skip_spaces()
            found = scanner.take(_JOIN)
            if found is None:
                break
            if word is not None and found[1] != word:
                raise scanner.error(
                    f'"{word}" and "{found[1]}" are mixed; add parentheses, '
                    f"such as (a {word} b) {found[1]} c",
                    start,
                )
            if word == "xor":
                raise scanner.error(
                    '"xor" joins two conditions; add parentheses, such as (a xor b) xor c', start
                )
            word = _WORD[found[1]]
            parts.append(self._operand(scanner))
        return parts[0] if word is None else Joined(word, tuple(parts))

    def _operand(self, scanner: Scanner) -> Condition:
        start = scanner.skip_spaces()
        if scanner.take(_NOT):
            return negate(self._operand(scanner))
        constant = scanner.take(_CONSTANT)
        if constant:
            return Always(negated=constant[1] == "never")
        if not _UNNAMED.match(scanner.text, start) and scanner.take(_OPEN):
            return self._group(scanner, start)
        return self._test(scanner)

    def _group(self, scanner: Scanner, start: int) -> Condition:
        if self._depth == _MOST_NESTED:
            raise scanner.error(f"more than {_MOST_NESTED} parentheses are nested", start)
        self._depth += 1
        condition = self._chain(scanner)
        self._depth -= 1
        if not scanner.take(_CLOSE):
            raise scanner.error("the parenthesis ( is not closed; expected )", start)
        return condition

    # -- one test -----------------------------------------------------------------------------

    def _test(self, scanner: Scanner) -> Condition:
        start = scanner.skip_spaces()
        name = scanner.take_quoted()
        is_quoted = name is not None
        if name is None:
            name = self._bare_name(scanner)
        sign = scanner.take(_SIGN)
        if sign:
            if not is_quoted and name not in self._numbers and sign[0] in ("<", "<="):
                return self._interval(scanner, start, name, sign[0])
            column = self._column(scanner, name, start)
            return read_comparison(scanner, self._columns, column, sign[0].replace("==", "="))
        choice = scanner.take(_IN)
        if choice:
            condition = read_choice(scanner, self._columns, self._column(scanner, name, start))
            return negate(condition) if choice[1] else condition
        missing = scanner.take(_MISSING)
        if missing:
            column = self._column(scanner, name, start)
            return Test(Missing(column), negated=missing[1] is not None)
        if not is_quoted and name in self._parts:
            return PartName(name, start)
        return self._truth(scanner, self._column(scanner, name, start), start)

    def _bare_name(self, scanner: Scanner) -> str:
        if scanner.take(_UNNAMED):
            return ""
        start = scanner.place
        name = scanner.take_bare(_END_OF_NAME)
        if not name:
            raise scanner.error("expected a column or a condition", start)
        return name

    def _interval(self, scanner: Scanner, start: int, low: str, sign: str) -> Condition:
        """Read the rest of `low < column <= high`."""
        start_of_name = scanner.skip_spaces()
        quoted = scanner.take_quoted()
        name = self._bare_name(scanner) if quoted is None else quoted
        if name not in self._numbers:
            # Neither side is a column: the first one was meant, if it is not a number.
            is_value = low[:1].isdigit() or low[:1] in "+-."
            self._column(*((scanner, name, start_of_name) if is_value else (scanner, low, start)))
        index = self._numbers[name]
        column = self._columns[index]
        value = value_of(low, column) if column.is_numeric else None
        if value is None:
            self._column(scanner, low, start)
        assert value is not None
        above = {"<": ">", "<=": ">="}[sign]
        lower = compare(scanner, column, index, above, value, start)
        second = scanner.take(_SIGN)
        if second is None or second[0] not in ("<", "<="):
            raise scanner.error(f"expected < or <= and a second bound: {low} {sign} {name} <= …")
        place = scanner.skip_spaces()
        high = read_value(scanner, column)
        return Joined("and", (lower, compare(scanner, column, index, second[0], high, place)))

    def _truth(self, scanner: Scanner, index: int, start: int) -> Condition:
        column = self._columns[index]
        if column.kind == "boolean":
            return Test(Above(index, 0.5))
        example = f"{format_name(column.name)} {'> 5' if column.is_numeric else '= …'}"
        raise scanner.error(
            f"column {column.name!r} is of kind {column.kind!r} and is not true or false by "
            f"itself; compare it, such as {example}",
            start,
        )

    def _column(self, scanner: Scanner, name: str, place: int) -> int:
        """Return the number of a column."""
        number = self._numbers.get(name)
        if number is None:
            problem = no_such_name("column", name, list(self._numbers))
            if self._parts:
                problem += f"; the parts are: {list_names(sorted(self._parts))}"
            raise scanner.error(problem, place)
        return number
