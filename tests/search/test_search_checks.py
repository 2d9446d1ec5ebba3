"""scikit-learn's own checks of an estimator, for the search."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from dln.search import DLNSearchCV
from tests.support.classifiers import UNDERTRAINED

EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "the order of rows in batches is random",
    "check_sample_weight_equivalence_on_sparse_data": "the order of rows in batches is random",
}
SPACE = {"layers": (24, 12), "tau": [2.0, 4.0], "epochs": 40, "n_networks": 1}


@parametrize_with_checks(
    [DLNSearchCV(space=SPACE, n_trials=2, batch_size=2, cv=2, random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@UNDERTRAINED
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
