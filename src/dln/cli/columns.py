"""Choose the columns to learn from: `--ignore`, `--only`, `--group` and `--exposure`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dln.cli.read import Source
from dln.errors import OptionError


def choose_features(
    source: Source,
    target: str,
    *,
    ignore: Sequence[str],
    only: Sequence[str],
    others: Mapping[str, str | None],
) -> list[str]:
    """Return the columns to learn from, in the order of the table.

    Neither the target nor the columns of `others`, by the option that names them, are among them.

    Each text in `ignore` and `only` is one name of a column, or several separated by commas.
    """
    if ignore and only:
        raise OptionError("--ignore and --only cannot be combined; use one of them")
    source.check_column(target)
    chosen = _named(only, source) if only else set(source.names)
    chosen -= _named(ignore, source) | {target}
    for option, name in others.items():
        if name is not None:
            source.check_column(name)
            if name == target:
                raise OptionError(f"{option} and --target both name {name!r}; name another column")
            chosen.discard(name)
    return [name for name in source.names if name in chosen]


def _named(texts: Sequence[str], source: Source) -> set[str]:
    known = set(source.names)
    found = set()
    for text in texts:
        # A text that is the name of a column is not split at its commas.
        names = [text] if text in known else [_trimmed(name, known) for name in text.split(",")]
        for name in names:
            source.check_column(name)
            found.add(name)
    return found


def _trimmed(name: str, known: set[str]) -> str:
    return name if name in known else name.strip()
