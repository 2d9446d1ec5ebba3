"""DLNClassifier and DLNRegressor as `DLNModel`, a model of AutoGluon, and so of TabArena.

Give the class to AutoGluon: `hyperparameters={DLNModel: {}}` in the fit of a TabularPredictor.
The hyperparameters are those of the estimators. The class is made when it is first asked for,
because AutoGluon is large and optional.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from dln._util.extras import import_extra
from dln.estimators.classifier import DLNClassifier
from dln.estimators.regressor import DLNRegressor

_NAME = "DLNModel"


def __getattr__(name: str) -> Any:
    if name != _NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _make_class()


@cache
def _make_class() -> Any:
    models = import_extra("autogluon.core.models", "a model for AutoGluon", "autogluon.tabular")

    class DLNModel(models.AbstractModel):  # type: ignore[misc, name-defined]
        """A circuit that predicts classes or numbers. Text and missing values need no encoding."""

        ag_key = "DLN"
        ag_name = "DLN"

        def _fit(self, X: Any, y: Any, sample_weight: Any = None, **kwargs: Any) -> None:
            make = DLNRegressor if self.problem_type == "regression" else DLNClassifier
            cores = kwargs.get("num_cpus")
            options = {"n_jobs": cores if isinstance(cores, int) else None}
            model = make(**{**options, **self._get_model_params()})
            self.model = model.fit(self.preprocess(X), y, sample_weight=sample_weight)

        def _set_default_params(self) -> None:
            self._set_default_param_value("random_state", 0)

        @classmethod
        def supported_problem_types(cls) -> list[str]:
            """Return the tasks that a circuit can learn."""
            return ["binary", "multiclass", "regression"]

    DLNModel.__qualname__ = _NAME  # as an attribute of this module, so that it can be pickled
    return DLNModel
