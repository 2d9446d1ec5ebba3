"""What the readout adds to PMML: the kind of model, computed fields and outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

from dln.core.calibration import Calibration
from dln.core.labels import Label
from dln.core.readout import Readout, Votes
from dln.core.score import Score
from dln.errors import OptionError
from dln.exporters.pmml_xml import (
    DataType,
    Inner,
    apply,
    attributes,
    constant,
    double,
    fits_xml,
    output,
    typed,
    whole,
)
from dln.exporters.text import label_words

_INTEGERS = range(-(2**31), 2**31)
"""Some consumers read integers as 32 bits."""


class PmmlAnswer(Protocol):
    """Writes the elements of an answer.

    Attributes
    ----------
    element, settings
        The element of the model, and its attributes.
    notes
        How to use the file, for its comment.
    reserved
        The names of outputs, which no column may have.
    """

    element: str
    settings: str
    notes: tuple[str, ...]
    reserved: re.Pattern[str]

    def target(self, inner: Inner) -> str:
        """Write the field that is predicted."""
        ...

    def outputs(self, inner: Inner, explain: bool) -> Iterator[str]:
        """Write the outputs, except for rules."""
        ...

    def derived(self, inner: Inner) -> Iterator[str]:
        """Write the fields that are computed from rules."""
        ...

    def body(self, inner: Inner) -> Iterator[str]:
        """Write how the model computes the prediction from derived fields."""
        ...


def make_answer(readout: Readout) -> PmmlAnswer:
    """Return what writes the elements of a readout."""
    match readout:
        case Votes():
            return _Classes(readout)
        case Score():
            return _Number(readout)
        case _:
            assert_never(readout)


TARGET = "class"
"""The computed name of the field that is predicted."""


def _sum(readout: Readout, place: int, inner: Inner) -> str:
    """Write the votes of one class, or the points."""
    terms = [
        apply("if", inner.ref(f"r{number}"), whole(rule.votes[place]), whole(0))
        for number, rule in enumerate(readout.rules)
        if rule.votes[place]
    ]
    return apply("sum", whole(readout.base_votes[place]), *terms)


class _Number:
    """A regression with one predictor: the score."""

    element = "RegressionModel"
    notes: tuple[str, ...] = (
        "The output prediction is the number. A value that is absent, null or NaN is missing.",
    )
    reserved = re.compile(r"prediction|points|rule\(\d+\)")

    def __init__(self, score: Score) -> None:
        self._score = score
        link = {"identity": "none", "log": "exp", "logit": "logit"}[score.link]
        self.settings = f' functionName="regression" normalizationMethod="{link}"'

    def target(self, inner: Inner) -> str:
        return f"    <DataField{typed(inner.name(TARGET), 'double')}/>"

    def outputs(self, inner: Inner, explain: bool) -> Iterator[str]:
        yield f'      <OutputField{typed("prediction", "double")} feature="predictedValue"/>'
        if explain:
            yield output("points", "integer", inner.ref("v0"))

    def derived(self, inner: Inner) -> Iterator[str]:
        yield inner.derived("v0", "integer", _sum(self._score, 0, inner), "points")
        power = constant("double", double(float(10 ** abs(self._score.digits))))
        scale = "/" if self._score.digits >= 0 else "*"
        # Some consumers divide two integers as integers, so that the power is a double.
        yield inner.derived("score", "double", apply(scale, inner.ref("v0"), power))

    def body(self, inner: Inner) -> Iterator[str]:
        yield '    <RegressionTable intercept="0">'
        predictor = attributes(name=inner.name("score"), coefficient="1")
        yield f"      <NumericPredictor{predictor}/>"
        yield "    </RegressionTable>"


class _Classes:
    """A rule set that returns the first class with the most votes."""

    element = "RuleSetModel"
    settings = ' functionName="classification"'
    notes: tuple[str, ...] = (
        "The output predicted_class is the class, probability(CLASS) its probability. A value that",
        "is absent, null or NaN is missing.",
    )
    reserved = re.compile(r"predicted_class|(probability|votes)\(.*\)|rule\(\d+\)", re.DOTALL)

    def __init__(self, readout: Votes) -> None:
        self._readout = readout
        self._labels = _write_labels(readout.classes)

    def target(self, inner: Inner) -> str:
        label = typed(inner.name(TARGET), self._labels.data_type, "categorical")
        values = "".join(f"      <Value{attributes(value=x)}/>\n" for x in self._labels.texts)
        return f"    <DataField{label}>\n{values}    </DataField>"

    def outputs(self, inner: Inner, explain: bool) -> Iterator[str]:
        label = typed("predicted_class", self._labels.data_type, "categorical")
        yield f'      <OutputField{label} feature="predictedValue"/>'
        for place, text in enumerate(self._labels.texts):
            share = apply("/", inner.ref(f"e{place}"), inner.ref("total"))
            yield output(f"probability({text})", "double", share)
        for place, text in enumerate(self._labels.texts if explain else ()):
            yield output(f"votes({text})", "integer", inner.ref(f"v{place}"))

    def body(self, inner: Inner) -> Iterator[str]:
        yield "    <RuleSet>"
        yield '      <RuleSelectionMethod criterion="firstHit"/>'
        for place, text in enumerate(self._labels.texts):
            test = attributes(field=inner.name(f"b{place}"), operator="equal", value="0")
            rule = f"<SimpleRule{attributes(id=str(place), score=text)}>"
            yield f"      {rule}<SimplePredicate{test}/></SimpleRule>"
        yield "    </RuleSet>"

    def derived(self, inner: Inner) -> Iterator[str]:
        """Count the votes, and the difference of each class to the most votes."""
        texts = self._labels.texts
        places = range(len(texts))
        for place, text in enumerate(texts):
            votes = _sum(self._readout, place, inner)
            yield inner.derived(f"v{place}", "integer", votes, f"votes of {text}")
        most = apply("max", *(inner.ref(f"v{place}") for place in places))
        # Not an integer: differences may exceed 32 bits.
        yield inner.derived("most", "double", most)
        for place in places:
            behind = apply("-", inner.ref(f"v{place}"), inner.ref("most"))
            yield inner.derived(f"b{place}", "double", behind)
        yield from self._shares(inner)

    def _shares(self, inner: Inner) -> Iterator[str]:
        """Compute the weight of each class, and their sum."""
        readout = self._readout
        places = range(len(readout.classes))
        if readout.calibration is not None:
            yield from self._looked_up(readout.calibration, inner)
            return
        temperature = constant("double", double(readout.temperature))
        for place in places:
            odds = apply("exp", apply("/", inner.ref(f"b{place}"), temperature))
            yield inner.derived(f"e{place}", "double", odds)
        total = apply("sum", *(inner.ref(f"e{place}") for place in places))
        yield inner.derived("total", "double", total)

    def _looked_up(self, calibration: Calibration, inner: Inner) -> Iterator[str]:
        """Look up the weights of classes by their leads."""
        n_classes = len(self._readout.classes)
        votes = [inner.ref(f"v{place}") for place in range(n_classes)]
        if n_classes == 2:
            lead = apply("-", inner.ref("b1"), inner.ref("b0"))
            yield inner.derived("lead1", "double", lead)
            yield inner.derived("e1", "double", _line_of(inner.name("lead1"), calibration, 0))
            rest = apply("-", constant("double", "1.0"), inner.ref("e1"))
            yield inner.derived("e0", "double", rest)
            yield inner.derived("total", "double", constant("double", "1.0"))
            return
        # The most votes of the classes before and after each class.
        for place in range(1, n_classes):
            more = [inner.ref(f"before{place - 1}")] if place > 1 else []
            yield inner.derived(f"before{place}", "double", _most(votes[place - 1], *more))
        for place in range(n_classes - 2, -1, -1):
            more = [inner.ref(f"after{place + 1}")] if place < n_classes - 2 else []
            yield inner.derived(f"after{place}", "double", _most(votes[place + 1], *more))
        for place in range(n_classes):
            others = [inner.ref(f"before{place}")] if place else []
            others += [inner.ref(f"after{place}")] if place < n_classes - 1 else []
            lead = apply("-", votes[place], _most(*others))
            yield inner.derived(f"lead{place}", "double", lead)
            value = _line_of(inner.name(f"lead{place}"), calibration, place)
            yield inner.derived(f"e{place}", "double", value)
        total = apply("sum", *(inner.ref(f"e{place}") for place in range(n_classes)))
        yield inner.derived("total", "double", total)


def _line_of(lead: str, calibration: Calibration, number: int) -> str:
    """Interpolate linearly between the leads of a table."""
    leads, values = calibration.leads, calibration.table_of(number)
    if len(leads) == 1:  # PMML needs two lines
        leads, values = (leads[0], leads[0] + 1), values * 2
    lines = "".join(
        f"<LinearNorm{attributes(orig=double(float(known)), norm=double(value))}/>"
        for known, value in zip(leads, values, strict=True)
    )
    given = attributes(field=lead, outliers="asExtremeValues")
    return f"<NormContinuous{given}>{lines}</NormContinuous>"


def _most(*values: str) -> str:
    return apply("max", *values) if len(values) > 1 else values[0]


@dataclass(frozen=True)
class _Labels:
    """The classes: their type, and each of them as text."""

    data_type: DataType
    texts: tuple[str, ...]


_SPELLED: dict[type, tuple[DataType, Callable[[Any], str]]] = {
    bool: ("boolean", lambda label: str(label).lower()),
    int: ("integer", str),
    float: ("double", double),
}


def _write_labels(classes: Sequence[Label]) -> _Labels:
    """Write labels as numbers or booleans if all are, and as text otherwise."""
    types = {type(label) for label in classes}
    too_large = any(type(label) is int and label not in _INTEGERS for label in classes)
    known = str if len(types) > 1 or too_large else types.pop()
    data_type, write = _SPELLED.get(known, ("string", label_words))
    texts = tuple(map(write, classes))
    seen: dict[str, Label] = {}
    for label, text in zip(classes, texts, strict=True):
        if not fits_xml(text):
            raise OptionError(f"XML cannot hold the class {label!r}; rename the class")
        if text in seen:
            raise OptionError(
                f"the classes {seen[text]!r} and {label!r} are the same as text; make them differ"
            )
        seen[text] = label
    return _Labels(data_type, texts)
