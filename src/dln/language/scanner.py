"""A line of text, read from left to right, that marks the place of a mistake."""

from __future__ import annotations

import ast
import re

from dln.errors import RuleTextError

_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_MOST_SHOWN = 30
"""Characters of the text that a message shows on each side of the place."""


class Scanner:
    """A line that is being read; `place` is the index of the next character."""

    def __init__(self, text: str, place: int = 0, line: int | None = None) -> None:
        self.text = text
        self.place = place
        self._line = line
        self._start = place

    @property
    def rest(self) -> str:
        """The text that has not been read."""
        return self.text[self.place :]

    def skip_spaces(self) -> int:
        """Move to the next character that is not a space, and return its place."""
        while self.place < len(self.text) and self.text[self.place].isspace():
            self.place += 1
        return self.place

    @property
    def is_at_end(self) -> bool:
        """Whether only spaces are left."""
        return self.skip_spaces() == len(self.text)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what matches a pattern here, after spaces; None if nothing does."""
        self.skip_spaces()
        found = pattern.match(self.text, self.place)
        if found is not None:
            self.place = found.end()
        return found

    def take_quoted(self) -> str | None:
        """Read text in quotes, written as in Python; None if there is no quote here."""
        start = self.skip_spaces()
        if self.text[start : start + 1] not in ("'", '"'):
            return None
        found = self.take(_QUOTED)
        if found is None:
            raise self.error("the quote is not closed", start)
        try:
            return str(ast.literal_eval(found[0]))
        except (SyntaxError, ValueError) as error:
            raise self.error(
                "the text in quotes has a backslash that Python would not accept; "
                r"write \\ for a backslash",
                start,
            ) from error

    def take_bare(self, stop: re.Pattern[str]) -> str:
        """Read text without quotes up to a stop, an unbalanced ")" or the end."""
        start = self.skip_spaces()
        depth = 0
        while self.place < len(self.text):
            letter = self.text[self.place]
            if depth == 0 and (letter == ")" or stop.match(self.text, self.place)):
                break
            depth += (letter == "(") - (letter == ")")
            self.place += 1
        return self.text[start : self.place].strip()

    def error(self, problem: str, place: int | None = None) -> RuleTextError:
        """Make an error that marks a place, by default the present one, with ^ below it."""
        place = self.place if place is None else place
        before, after = self.text[self._start : place].lstrip(), self.text[place:].rstrip()
        if len(before) > _MOST_SHOWN:
            before = "…" + before[-_MOST_SHOWN:]
        if len(after) > _MOST_SHOWN:
            after = after[:_MOST_SHOWN] + "…"
        shown = "".join(" " if letter.isspace() else letter for letter in before + after)
        line = "" if self._line is None else f"line {self._line}, "
        return RuleTextError(
            f"{line}column {place + 1}: {problem}\n  {shown}\n  {' ' * len(before)}^",
            place + 1,
            self._line,
        )
