"""Make text safe for comments and string literals of other languages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

from dln.core.labels import Label
from dln.exporters.program import Program

_BROKEN = {"*/": "* /", "/*": "/ *", "??": "? ?", "</": "< /", "<!": "< !", "-->": "-- >"}
"""Character sequences that begin or end a comment, are a trigraph, or end an HTML script."""


def comment(lines: Sequence[str], first: str, each: str, last: str = "") -> str:
    """Write lines as a comment that no text in them can end.

    Characters that are not printable are written as escapes, and comment marks are broken by a
    space. Backslashes are doubled, because some languages interpret them even in comments.
    """
    safe = [f"{each}{_safe(line)}".rstrip() for line in lines]
    return "\n".join([*filter(None, [first]), *safe, *filter(None, [last])]) + "\n"


def _safe(line: str) -> str:
    line = line.replace("\\", "\\\\")
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    changed = None
    while changed != line:
        changed = line
        for mark, broken in _BROKEN.items():
            line = line.replace(mark, broken)
    return line


def head(program: Program, language: str, notes: Sequence[str] = ()) -> list[str]:
    """Return the lines at the top of a file: the model's id, its rules, and how to use it."""
    notes = ["", *notes] if notes else []
    first = f"{program.title} in {language}, made by dln from model {program.model_id}."
    return [first, "", *program.rule_lines, *notes]


def ascii_json(value: object) -> str:
    r"""Write text, numbers and lists as JSON that is safe in scripts and pages.

    >>> print(ascii_json(["</script>", "é", "\u2028"]))
    ["\u003c/script>", "\u00e9", "\u2028"]
    """
    return json.dumps(value, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")


def c_string(text: str) -> str:
    r"""Write text as a C string literal in UTF-8, with octal escapes of three digits.

    >>> print(c_string('é"\\??/7'))
    "\303\251\"\\\?\?/7"
    """
    written = []
    for byte in text.encode("utf-8"):
        letter = chr(byte)
        if letter in '"\\?':
            written.append(f"\\{letter}")
        elif 32 <= byte < 127:
            written.append(letter)
        else:
            written.append(f"\\{byte:03o}")
    return '"' + "".join(written) + '"'


def has_utf8(text: str) -> bool:
    """Return whether text has a UTF-8 encoding; half a surrogate pair has none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def label_words(label: Label) -> str:
    """Write a label as text, for targets without its type: like Python's str, dates as ISO."""
    if isinstance(label, float) and math.isinf(label):
        return "inf" if label > 0 else "-inf"
    return label.isoformat() if hasattr(label, "isoformat") else str(label)


def fill(template: str, **values: object) -> str:
    """Replace each `@name@` by its value. Values are not searched for further names.

    >>> fill("int @name@_of(@what@)", name="f", what="@name@")
    'int f_of(@name@)'
    """
    return re.sub(r"@(\w+)@", lambda found: str(values[found[1]]), template)
