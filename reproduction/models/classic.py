"""The paper's scikit-learn models, tuned by random search.

The paper does not print its search spaces. The spaces below contain the sizes that it publishes.
Its trees have 1 to 10 splits (Letter: 20) and the trees of its forests 2 to 8: this corresponds to
`min_impurity_decrease=0.01`. Its forests and AdaBoost have 100 to 180 members on average. Trees and
forests use class weights. AdaBoost does not: its published accuracy on skewed tables is near 50 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy.stats import loguniform, randint
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.model_selection import RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from dln import cost_of_model
from reproduction.models.outcome import Budget, Outcome, percent
from reproduction.protocol import Task

_TREE = {
    "max_depth": randint(2, 11),
    "min_impurity_decrease": loguniform(0.01, 0.1),
}
MEMBERS = randint(50, 251)


@dataclass(frozen=True)
class Searched:
    """A scikit-learn classifier and the search space of its hyperparameters.

    Attributes
    ----------
    counted
        Whether the paper has a formula for its cost.
    balanced
        Whether `fit` gets sample weights that balance the classes. Classifiers with a
        `class_weight` parameter use that instead.
    """

    make: Callable[[int], Any]
    space: Mapping[str, Any]
    counted: bool = True
    balanced: bool = False

    def __call__(self, task: Task, budget: Budget) -> Outcome:
        """Run a random search, fit on all training rows, and test."""
        arrays = task.arrays
        search = RandomizedSearchCV(
            self.make(task.seed),
            self.space,
            n_iter=budget.trials,
            scoring="balanced_accuracy",
            cv=task.folds,
            random_state=task.seed,
            n_jobs=budget.threads,
        )
        weights = compute_sample_weight("balanced", arrays.train_target) if self.balanced else None
        search.fit(
            arrays.train,
            arrays.train_target,
            **({} if weights is None else {"sample_weight": weights}),
        )
        return Outcome(
            accuracy=percent(arrays.test_target, search.predict(arrays.test)),
            validation=100.0 * float(search.best_score_),
            params=search.best_params_,
            cost=cost_of_model(search.best_estimator_) if self.counted else None,
        )


@dataclass(frozen=True)
class Default:
    """A scikit-learn classifier with its default parameters.

    `balanced` is as in `Searched`. Other libraries' models only: no cost is counted.
    """

    make: Callable[[int], Any]
    balanced: bool = False

    def __call__(self, task: Task, budget: Budget) -> Outcome:
        """Fit on all training rows, and test."""
        arrays = task.arrays
        model = self.make(task.seed)
        weights = compute_sample_weight("balanced", arrays.train_target) if self.balanced else None
        model.fit(
            arrays.train,
            arrays.train_target,
            **({} if weights is None else {"sample_weight": weights}),
        )
        return Outcome(
            accuracy=percent(arrays.test_target, model.predict(arrays.test)),
            validation=None,
            params={},
            cost=None,
        )


neighbours = Searched(
    lambda seed: KNeighborsClassifier(),
    {"n_neighbors": randint(1, 31), "p": [1, 2], "weights": ["uniform", "distance"]},
)
tree = Searched(
    lambda seed: DecisionTreeClassifier(class_weight="balanced", random_state=seed), _TREE
)
forest = Searched(
    lambda seed: RandomForestClassifier(class_weight="balanced", random_state=seed),
    {"n_estimators": MEMBERS, **_TREE},
)
naive_bayes = Searched(lambda seed: GaussianNB(), {"var_smoothing": loguniform(1e-9, 1.0)})
boosting = Searched(
    lambda seed: AdaBoostClassifier(random_state=seed),
    {"n_estimators": MEMBERS, "learning_rate": loguniform(0.01, 2.0)},
)
