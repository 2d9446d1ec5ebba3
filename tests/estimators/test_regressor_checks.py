"""scikit-learn's own checks of DLNRegressor."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dln import DLNRegressor

# Random cutoffs and the order of rows make repeating a row another draw than weighting it, as for
# scikit-learn's own stochastic estimators.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "splits are drawn at random",
    "check_sample_weight_equivalence_on_sparse_data": "splits are drawn at random",
}


@parametrize_with_checks(
    [DLNRegressor(n_trees=10, n_networks=1, layers=(8,), epochs=10, random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore:The model has no rules:dln.DlnWarning")
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
