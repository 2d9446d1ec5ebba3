"""The part of `benchmarks.forests` that PyXAI runs; it imports neither dln nor scikit-learn.

    python benchmarks/pyxai_forest.py forest.json

Reads a forest and rows, and finds a sufficient reason for each row. Prints the predicted class,
seconds of processor time, the columns of the reason, its number of conditions, and whether it was
found within the time limit.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Explain the rows of a file."""
    from pyxai import Builder, Explaining, Learning

    def node_of(node: Any) -> Any:
        if isinstance(node, int):  # a leaf
            return node
        feature, threshold, low, high = node
        return Builder.DecisionNode(
            feature + 1,
            operator=Builder.GT,
            threshold=threshold,
            left=node_of(low),
            right=node_of(high),
        )

    document = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    names = document["names"]
    roots = [node_of(tree) for tree in document["trees"]]
    given = {
        "n_classes": 2,
        "learner_information": Learning.LearnerInformation(None, problem_type="classification"),
    }
    if len(roots) == 1:
        model = Builder.DecisionTree(len(names), roots[0], feature_names=names, **given)
    else:
        trees = [Builder.DecisionTree(len(names), root) for root in roots]
        model = Builder.RandomForest(trees, feature_names=[*names, "class"], **given)
    explainer = Explaining.initialize(model, features_type={"numerical": names})
    answers = []
    for row in document["rows"]:
        start = time.process_time()
        explainer.set_instance(tuple(row))
        reason = explainer.sufficient_reason(time_limit=document["time_limit"])
        seconds = time.process_time() - start
        found = reason is not None and explainer.elapsed_time != "TIMEOUT"
        columns = explainer.to_features(reason, details=True) if found else {}
        answers.append(
            {
                "class": int(explainer.target_prediction),
                "seconds": seconds,
                "columns": list(columns),
                "n_conditions": len(reason or ()),
                "found": found,
            }
        )
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
