"""scikit-learn's own checks of an estimator."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from dln import DLNClassifier
from tests.support.classifiers import UNDERTRAINED

# Training draws the order of rows at random, so repeating a row is not the same as weighting it.
# The same is true of scikit-learn's own stochastic estimators.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "the order of rows in batches is random",
    "check_sample_weight_equivalence_on_sparse_data": "the order of rows in batches is random",
}


@parametrize_with_checks(
    [DLNClassifier(effort="quick", selection_fits=2, random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@UNDERTRAINED
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
