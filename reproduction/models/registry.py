"""The models of the experiment by name; each is imported when it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from dln import OptionError
from reproduction.models.outcome import Budget, EngineName, Model
from reproduction.protocol import MAX_EPOCHS


@dataclass(frozen=True)
class Entry:
    """A model: its heading in the tables, and where it is defined.

    Attributes
    ----------
    published
        Its column in the paper's tables; None if the paper has none.
    weight
        Time of a cell relative to a decision tree's, for the estimate of the time left: the median
        over the tables of reproduction/results of the medians over seeds.
    search
        The model whose search it shares, if any.
    """

    heading: str
    module: str
    attribute: str
    published: str | None = None
    weight: float = 1.0
    search: str | None = None

    def load(self) -> Model:
        """Import the model."""
        model: Model = getattr(import_module(f"reproduction.models.{self.module}"), self.attribute)
        return model


MODELS: Mapping[str, Entry] = {
    "knn": Entry("KNN", "classic", "neighbours", "KNN"),
    "dt": Entry("DT", "classic", "tree", "DT"),
    "nb": Entry("NB", "classic", "naive_bayes", "NB", 2),
    "ab": Entry("AB", "classic", "boosting", "AB", 45),
    "rf": Entry("RF", "classic", "forest", "RF", 50),
    "lgn": Entry("LGN", "gate_network", "gate_network", "LGN", 16),
    "paper": Entry("DLN (paper)", "dln_search", "paper", "DLN", 26),
    "program": Entry("DLN (program)", "dln_search", "program", "DLN", 26),
    "dln": Entry("dln", "dln_search", "best", "DLN", 37),
    "dln-small": Entry("dln-small", "dln_search", "small", "DLN", 37, "dln"),
    "lightgbm-default": Entry("LightGBM, default", "beyond", "default_lightgbm", None, 1),
    "ebm-default": Entry("EBM, default", "beyond", "default_explainable_boosting", None, 20),
    "rf-free": Entry("RF, free", "beyond", "free_forest", None, 78),
    "lightgbm": Entry("LightGBM", "beyond", "lightgbm", None, 9),
    "ebm": Entry("EBM", "beyond", "explainable_boosting", None, 255),
    "figs": Entry("FIGS", "beyond", "figs", None, 23),
    "lgn-uniform": Entry("LGN, uniform", "gate_network", "uniform_gate_network", None, 16),
    "mlp": Entry("MLP", "perceptron", "perceptron", "MLP", 37),
}
"""All models in the order in which they run: fast ones first."""

LGN_VARIANTS = ("lgn-uniform",)
"""Models that only the table about the LGN shows."""

BASELINES = ("knn", "dt", "rf", "nb", "ab", "mlp", "lgn")
"""The paper's models other than DLN, in the order of its tables."""

DLN_COLUMNS = ("paper", "program", "dln", "dln-small")
"""The DLN columns; the first one takes the place of the paper's DLN in rankings."""

COMPARED_COLUMNS = ("paper", "dln", "dln-small")
"""The DLN columns that plots show and that other models are compared with: those that have a result
for every split."""


def epochs_of(model: str, budget: Budget) -> int | None:
    """Return the maximal number of epochs of a model; None if there is no limit."""
    own = dict.fromkeys(("lgn", "lgn-uniform", "mlp"), budget.epochs)
    return {**own, "paper": MAX_EPOCHS, "program": MAX_EPOCHS}.get(model)


def engine_of(model: str, budget: Budget) -> EngineName | None:
    """Return what trains a model; None for other libraries."""
    if model in DLN_COLUMNS:
        return budget.engine
    if model == "mlp":
        return "cuda" if budget.engine == "cuda" else "torch"
    return "native" if MODELS[model].module == "gate_network" else None


def search_of(name: str) -> str:
    """Return the model whose search a model uses, usually its own.

    >>> search_of("dln-small"), search_of("dt")
    ('dln', 'dt')
    """
    return find_model(name).search or name


def find_model(name: str) -> Entry:
    """Return a model by its name.

    >>> find_model("KNN")
    Traceback (most recent call last):
    dln.errors.OptionError: there is no model 'KNN'; known are knn, dt, ...
    """
    if name not in MODELS:
        raise OptionError(f"there is no model {name!r}; known are {', '.join(MODELS)}")
    return MODELS[name]
