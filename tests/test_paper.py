"""docs/explanation/paper.md: 78 statements, each with its place in the paper and a verdict."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.sources import ROOT, read

TEXT = read(ROOT / "docs" / "explanation" / "paper.md")
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+) \| (.+?) \|$", re.M)
STATEMENTS = [match.groups() for match in ROW.finditer(TEXT)]
PLACE = re.compile(
    r"(Abstract|Sec\. (I|II|III|IV|V)(-[A-G])?|(III|IV)(-[A-G])?|Algorithms? \d( to \d)?|\d"
    r"|Tables? (I|II|III|IV|V|VI)|V|Fig\. \d( to \d)?)"
)
VERDICTS = ("done differently", "not done", "done")


def verdict_of(text: str) -> str:
    return next((name for name in VERDICTS if text.startswith(name)), "")


def test_there_are_78_numbered_statements() -> None:
    assert [int(row[0]) for row in STATEMENTS] == list(range(1, 79))
    assert len({row[1] for row in STATEMENTS}) == 78


@pytest.mark.parametrize("row", STATEMENTS, ids=lambda row: row[0])
def test_a_statement_has_a_place_and_a_verdict(row: tuple[str, ...]) -> None:
    _, what, place, where, verdict = row
    assert what.endswith(".")
    assert all(PLACE.fullmatch(part) for part in place.split(", ")), place
    name = verdict_of(verdict)
    assert name, verdict
    if name != "done":
        assert re.match(rf"{name}: \S.+", verdict), "a departure needs a reason"
        assert where.strip()


def test_the_summary_counts_the_verdicts() -> None:
    found = Counter(verdict_of(row[4]) for row in STATEMENTS)
    stated = {
        name: int(number)
        for name, number in re.findall(
            r"^\| (done differently|not done|done)\b[^|]*\| (\d+) \|$", TEXT, re.M
        )
    }
    assert stated == dict(found)


# -- the authors' program ---------------------------------------------------------------------

DOCS = {
    path: read(path)
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.parent.name != "reference"  # generated from the texts of options
}
PROGRAM = ROOT / "docs" / "explanation" / "program.md"
FACTS = [int(number) for number in re.findall(r"^\| P(\d+) \| \S", DOCS[PROGRAM], re.M)]
ABOUT = re.compile(r"authors' program\b|\b(its|the) program\b|\bProgram:|(?<!DLN )\(program")
REFERENCE = re.compile(r"\bP(\d+)\b")


def paragraphs(text: str) -> list[str]:
    """Split a page into paragraphs, items and rows of tables; code and titles are left out."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"^(    |#).*$", "", text, flags=re.M)
    return [part for part in re.split(r"\n\n|\n(?=[-|])", text) if part.strip()]


def test_facts_about_the_program_are_numbered() -> None:
    assert list(range(1, len(FACTS) + 1)) == FACTS


@pytest.mark.parametrize("path", [path for path in DOCS if path != PROGRAM], ids=lambda p: p.stem)
def test_what_is_said_of_the_program_refers_to_a_fact(path: Path) -> None:
    for part in paragraphs(DOCS[path]):
        numbers = [int(number) for number in REFERENCE.findall(part)]
        assert set(numbers) <= set(FACTS), part
        if ABOUT.search(part):
            assert numbers or "program.md" in part, f"needs its place: {part}"
