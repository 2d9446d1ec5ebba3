"""The models of the experiment by name; each is imported only when it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from dln.bench.outcome import Model
from dln.errors import OptionError


@dataclass(frozen=True)
class Entry:
    """A model: its heading in the tables, and where it is defined.

    Attributes
    ----------
    published
        Its column in the paper's tables; None where the paper has none.
    weight
        Rough time of a cell against that of a decision tree, to tell the time left.
    search
        The model whose search it comes out of, where that is another one's.
    """

    heading: str
    module: str
    attribute: str
    published: str | None = None
    weight: float = 1.0
    search: str | None = None

    def load(self) -> Model:
        """Import the model."""
        model: Model = getattr(import_module(self.module), self.attribute)
        return model


MODELS: Mapping[str, Entry] = {
    "knn": Entry("KNN", "dln.bench.classic", "neighbours", "KNN", 3),
    "dt": Entry("DT", "dln.bench.classic", "tree", "DT"),
    "nb": Entry("NB", "dln.bench.classic", "naive_bayes", "NB"),
    "ab": Entry("AB", "dln.bench.classic", "boosting", "AB", 50),
    "rf": Entry("RF", "dln.bench.classic", "forest", "RF", 50),
    "lgn": Entry("LGN", "dln.bench.gate_network", "gate_network", "LGN", 20),
    "paper": Entry("DLN (paper)", "dln.bench.logic", "paper", "DLN", 100),
    "dln": Entry("dln", "dln.bench.logic", "best", "DLN", 100),
    "dln-small": Entry("dln-small", "dln.bench.logic", "small", "DLN", 100, search="dln"),
    "rf-free": Entry("RF, free", "dln.bench.beyond", "free_forest", None, 100),
    "lightgbm": Entry("LightGBM", "dln.bench.beyond", "lightgbm", None, 100),
    "ebm": Entry("EBM", "dln.bench.beyond", "explainable_boosting", None, 1000),
    "figs": Entry("FIGS", "dln.bench.beyond", "figs", None, 100),
    "mlp": Entry("MLP", "dln.bench.perceptron", "perceptron", "MLP", 200),
}
"""In the order in which they are run: what is quick first."""

BASELINES = ("knn", "dt", "rf", "nb", "ab", "mlp", "lgn")
"""The paper's models beside its DLN, in the order of its tables."""

DLN_COLUMNS = ("paper", "dln", "dln-small")
"""The DLN in three ways; the first stands for the paper's where models are ranked."""


def find_model(name: str) -> Entry:
    """Find a model by its name.

    >>> find_model("KNN")
    Traceback (most recent call last):
    dln.errors.OptionError: there is no model 'KNN'; known are knn, dt, ...
    """
    if name not in MODELS:
        raise OptionError(f"there is no model {name!r}; known are {', '.join(MODELS)}")
    return MODELS[name]
