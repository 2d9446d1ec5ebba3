"""Count the cost of fitted scikit-learn classifiers, as the paper's tables do.

The paper publishes the costs of its baselines but not the formulas. The formulas below reproduce
its figures (`tests/costs/test_cost_published.py`). They count floating-point arithmetic for all
column types.
"""

from __future__ import annotations

from functools import singledispatch
from math import log2
from typing import Any

from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from dln._util.messages import type_name
from dln.costs.arithmetic import Widths, bit_sum
from dln.costs.report import Cost, PartCost
from dln.errors import OptionError

_SQUARED_METRICS = ("euclidean", "sqeuclidean", "l2")
_ABSOLUTE_METRICS = ("manhattan", "cityblock", "l1")


def cost_of_model(model: Any, float_bits: int = 16, int_bits: int = 16) -> Cost:
    """Count the operations, gates, parameters and bytes of a fitted scikit-learn classifier.

    With d features, K classes and N training rows, one prediction takes:

    - `DecisionTreeClassifier`: one comparison for each level of the tree. A split stores a
      threshold, a feature and two children, a leaf one value.
    - `RandomForestClassifier`: its trees, and the sum of one bit from each.
    - `AdaBoostClassifier`: its estimators, a product with the weight of each, and their sum.
    - `GaussianNB`: for each class d differences, d squares and their sum, a logarithm, a division
      and two products. Means, variances and class probabilities are stored.
    - `KNeighborsClassifier`: the distance to all N rows (3d − 1 operations if Euclidean, 2d − 1 if
      Manhattan) and N log2(N) comparisons that sort them. The table and its target are stored.
    - `MLPClassifier`: a product and a sum for each weight, a comparison for each hidden unit.

    Not counted: finding the largest of K scores, and the neighbours' votes.

    Parameters
    ----------
    model
        A fitted classifier of one of these types, or of a subclass.
    float_bits
        16, 32 or 64 bits for numbers.
    int_bits
        8, 16, 32 or 64 bits for indices.

    Returns
    -------
    Cost

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> tree = DecisionTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True))
    >>> print(cost_of_model(tree))
                   operations  gate operations  parameters  bytes
    feature tests           1              183           6     12
    total                   1              183           6     12
    """
    widths = Widths(float_bits, int_bits)
    name = type(model).__name__
    if not isinstance(model, COUNTED_MODELS):
        raise _unknown_model(model)
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise OptionError(f"the {name} is not fitted; fit it before counting its cost") from None
    if isinstance(getattr(model, "classes_", None), list):
        raise OptionError(f"the {name} predicts several targets; fit it on one target")
    return _count(model, widths)


@singledispatch
def _count(model: Any, widths: Widths) -> Cost:
    """Count a fitted model; each type below has its own formula."""
    raise _unknown_model(model)


@_count.register(DecisionTreeClassifier)
def _count_tree(model: Any, widths: Widths) -> Cost:
    n_leaves = int(model.get_n_leaves())
    n_splits = n_leaves - 1
    depth = int(model.get_depth())
    return Cost(
        feature_tests=PartCost(
            operations=depth,
            gate_operations=depth * widths.number.comparison,
            values=n_splits + n_leaves,
            indices=3 * n_splits,
            bytes=widths.bytes_of(floats=n_splits + n_leaves, ints=3 * n_splits),
        )
    )


@_count.register(RandomForestClassifier)
def _count_forest(model: Any, widths: Widths) -> Cost:
    # Each tree adds one bit, as in the paper. scikit-learn adds up probabilities instead.
    n_trees = len(model.estimators_)
    votes = PartCost(operations=n_trees, gate_operations=bit_sum(n_trees))
    return _count_all(model.estimators_, widths) + Cost(class_sums=votes)


@_count.register(AdaBoostClassifier)
def _count_boosting(model: Any, widths: Widths) -> Cost:
    n_models = len(model.estimators_)
    number = widths.number
    weighting = PartCost(
        operations=2 * n_models - 1,
        gate_operations=n_models * number.multiplication + (n_models - 1) * number.addition,
        values=n_models,
        bytes=widths.bytes_of(floats=n_models),
    )
    return _count_all(model.estimators_, widths) + Cost(arithmetic=weighting)


@_count.register(GaussianNB)
def _count_naive_bayes(model: Any, widths: Widths) -> Cost:
    # This formula reproduces the paper's figures. It has a difference, a square and a sum for each
    # feature, but not the division by each feature's variance that the likelihood requires.
    d, n_classes = int(model.n_features_in_), len(model.classes_)
    number = widths.number
    n_sums, n_products = 2 * d - 1, d + 2
    operations = n_sums + n_products + 2
    gate_operations = (
        n_sums * number.addition
        + n_products * number.multiplication
        + number.division
        + number.logarithm
    )
    n_values = n_classes * (2 * d + 1)
    return Cost(
        arithmetic=PartCost(
            operations=n_classes * operations,
            gate_operations=n_classes * gate_operations,
            values=n_values,
            bytes=widths.bytes_of(floats=n_values),
        )
    )


@_count.register(KNeighborsClassifier)
def _count_neighbours(model: Any, widths: Widths) -> Cost:
    n_rows, d = int(model.n_samples_fit_), int(model.n_features_in_)
    number = widths.number
    n_sums = n_rows * (2 * d - 1)
    n_products = n_rows * d if _squares(model.effective_metric_) else 0
    n_comparisons = round(n_rows * log2(n_rows))
    n_values = n_rows * (d + 1)
    return Cost(
        arithmetic=PartCost(
            operations=n_sums + n_products + n_comparisons,
            gate_operations=n_sums * number.addition
            + n_products * number.multiplication
            + n_comparisons * number.comparison,
            values=n_values,
            bytes=widths.bytes_of(floats=n_values),
        )
    )


@_count.register(MLPClassifier)
def _count_perceptron(model: Any, widths: Widths) -> Cost:
    if model.activation not in ("relu", "identity"):
        raise OptionError(
            f"cost_of_model cannot count activation={model.activation!r}; "
            "fit the MLPClassifier with 'relu' or 'identity'"
        )
    # For two classes, scikit-learn's network has one output and the paper's has two.
    n_weights = sum(int(weights.size) for weights in model.coefs_)
    n_units = [int(offsets.size) for offsets in model.intercepts_]
    n_comparisons = sum(n_units[:-1]) if model.activation == "relu" else 0
    n_values = n_weights + sum(n_units)
    number = widths.number
    return Cost(
        arithmetic=PartCost(
            operations=2 * n_weights + n_comparisons,
            gate_operations=n_weights * (number.multiplication + number.addition)
            + n_comparisons * number.comparison,
            values=n_values,
            bytes=widths.bytes_of(floats=n_values),
        )
    )


COUNTED_MODELS: tuple[type, ...] = tuple(kind for kind in _count.registry if kind is not object)
"""The scikit-learn classifiers that `cost_of_model` supports."""


def _unknown_model(model: Any) -> OptionError:
    known = ", ".join(kind.__name__ for kind in COUNTED_MODELS)
    return OptionError(
        f"cost_of_model cannot count {type_name(model)}; "
        f"it counts {known}, and cost counts a Circuit"
    )


def _count_all(models: Any, widths: Widths) -> Cost:
    """Count the models of an ensemble together."""
    return sum((_count(model, widths) for model in models), start=Cost())


def _squares(metric: Any) -> bool:
    """Return whether a distance squares the differences of the features."""
    if metric not in (*_SQUARED_METRICS, *_ABSOLUTE_METRICS):
        raise OptionError(
            f"cost_of_model cannot count the distance {metric!r}; "
            "fit the KNeighborsClassifier with 'euclidean' or 'manhattan'"
        )
    return metric in _SQUARED_METRICS
