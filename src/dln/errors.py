"""Every exception that dln raises for a user's mistake, and the category of its warnings.

::

    DlnError
    ├── TableError (ValueError)            a table, target or weight that cannot be used
    │   ├── MissingColumnError (KeyError)  the table lacks a column that the circuit reads
    │   └── ColumnTypeError (TypeError)    a column holds values of another type
    ├── CircuitError (ValueError)          a circuit that breaks its own rules
    │   └── CircuitFileError               a file that does not hold a valid circuit
    ├── RuleTextError (ValueError)         rules as text that cannot be read
    ├── OptionError (ValueError)           a parameter out of its range
    ├── TaskError (TypeError)              a question about classes to a circuit that
    │                                      predicts a number, or the other way round
    ├── TrainingError (ArithmeticError)    training failed: the loss is not a number
    ├── DeviceMemoryError (MemoryError)    a device lacks the memory for a network
    ├── DiskSpaceError (OSError)           the disk lacks the space for temporary files
    └── ExtraMissingError (ImportError)    an optional part that is not installed
    DlnWarning (UserWarning)               a result that a user should look at

A message says what was found, what was expected and what to do.
"""

from __future__ import annotations

import shlex


class DlnError(Exception):
    """Base class of everything below."""


class TableError(DlnError, ValueError):
    """A table, target or weight vector that cannot be used."""


class MissingColumnError(TableError, KeyError):
    """A table lacks a column that the circuit reads."""

    # KeyError shows the repr of its argument; a sentence should be shown as it is.
    __str__ = Exception.__str__


class ColumnTypeError(TableError, TypeError):
    """A column holds values of another type than the one it was trained with."""


class CircuitError(DlnError, ValueError):
    """A circuit that breaks its own rules, such as a wire that points forward."""


class CircuitFileError(CircuitError):
    """A file that does not hold a valid circuit."""


class RuleTextError(DlnError, ValueError):
    """Rules as text that cannot be read; the message shows the line, with ^ below the place.

    Attributes
    ----------
    line, column
        The place, counted from 1; the line is None if a single rule was read.
    """

    def __init__(self, message: str, column: int | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.column = column
        self.line = line


class OptionError(DlnError, ValueError):
    """A parameter out of its range."""


class TaskError(DlnError, TypeError):
    """A question about classes to a circuit that predicts a number, or the other way round."""


class TrainingError(DlnError, ArithmeticError):
    """Training failed: the loss is not a number."""


class DeviceMemoryError(DlnError, MemoryError):
    """A device lacks the memory for a network and its batch."""


class DiskSpaceError(DlnError, OSError):
    """The disk lacks the space for the temporary files of a large table."""


class ExtraMissingError(DlnError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""

    @classmethod
    def for_packages(cls, what: str, *packages: str) -> ExtraMissingError:
        """Build the error from what was asked for and the missing packages, by their PyPI names.

        >>> raise ExtraMissingError.for_packages("engine 'cuda'", "cupy-cuda13x[ctk]", "numpy")
        Traceback (most recent call last):
        dln.errors.ExtraMissingError: engine 'cuda' requires cupy-cuda13x[ctk] and numpy; install
        with: pip install 'cupy-cuda13x[ctk]' numpy
        """
        # Not the name of an extra: packages can be installed from any folder, without a clone.
        *others, last = packages
        names = f"{', '.join(others)} and {last}" if others else last
        return cls(f"{what} requires {names}; install with: pip install {shlex.join(packages)}")


class DlnWarning(UserWarning):
    """Warns of a result that a user should look at; the message says what to do.

    Silence it with ``warnings.filterwarnings("ignore", category=dln.DlnWarning)``.
    """
