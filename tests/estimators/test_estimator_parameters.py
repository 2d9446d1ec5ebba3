"""Every parameter of DLNClassifier has an effect, and invalid values are refused."""

from typing import Any

import numpy as np
import pytest

from dln import Alternating, Annealing, Circuit, DLNClassifier, Freezing, OptionError, Pruning
from tests.support.classifiers import (
    UNDERTRAINED,
    iris_table,  # noqa: F401 - a fixture
    mixed_table,  # noqa: F401 - a fixture
    small,
)

# For every parameter a value that differs from SMALL and from the default and has an effect.
OTHER_VALUES: list[tuple[str, Any]] = [
    ("layers", (10,)),
    ("layers", "auto"),
    ("n_networks", 2),
    ("n_networks", "auto"),
    ("n_cutoffs", 1),
    ("n_links", None),
    ("n_links", 2),
    ("n_gates", 4),
    ("concatenation", "shared"),
    ("concatenation", "none"),
    ("tau", 8.0),
    ("tau", "auto"),
    ("epochs", 3),
    ("epochs", "auto"),
    ("batch_size", 16),
    ("learning_rate", 0.2),
    ("final_rate", 1.0),
    ("threshold_rate", 1.0),
    ("slope", 2.0),
    ("phases", "unified"),
    ("phases", "epochs"),
    ("scaling", "range"),
    ("vote_threshold", 0.6),
    ("vote_density", 0.9),
    ("vote_density", "undecided"),
    ("vote_gradient", "hard"),
    ("link_drawing", "repeated"),
    ("last_batch", "drop"),
    ("preset", "paper"),
    ("preset", "program"),
    ("phases", Alternating(5)),
    ("gate_gradient", "mixture"),
    ("temperature", 0.5),
    ("temperature", Annealing(2.0, 0.2)),
    ("freezing", Freezing(0.3)),
    ("freezing", Freezing(0.3, "outputs-first")),
    ("pruning", Pruning(0.3, 0.6, convergence=0.9)),
    ("validation_fraction", 0.3),
    ("class_weight", None),
    ("class_weight", "smoothed"),
    ("class_weight", {"ill": 3.0}),
    ("probabilities", "votes"),
    ("decision_threshold", 0.01),
    ("costs", [[0, 1], [50, 0]]),
    ("sensitivity_at_least", 0.999),
    ("random_state", 9),
]


@pytest.fixture(scope="module")
def usual_circuit(mixed: Any) -> Circuit:
    return small(concatenation="separate", phases="batches").fit(*mixed).circuit_


@UNDERTRAINED
@pytest.mark.parametrize(("name", "value"), OTHER_VALUES)
def test_every_parameter_has_an_effect(
    name: str, value: Any, mixed: Any, usual_circuit: Circuit
) -> None:
    usual = {"concatenation": "separate", "phases": "batches"}
    circuit = small(**{**usual, name: value}).fit(*mixed).circuit_
    assert circuit != usual_circuit
    assert set(circuit.predict(mixed[0])) <= {"ill", "well"}


@UNDERTRAINED
def test_more_selection_fits_use_more_folds(iris: Any) -> None:
    few, more = (
        small(tau="auto", epochs=3, selection_fits=n).fit(*iris).selection_ for n in (2, 6)
    )
    assert [row["accuracy"] for row in few] != [row["accuracy"] for row in more]
    assert small(tau="auto", epochs=3, selection_fits=0).fit(*iris).selection_ == []


def test_the_gradient_factor_has_an_effect_if_layers_share_thresholds(mixed: Any) -> None:
    # Adam cancels a factor that is common to all gradients of a parameter.
    shared = {"concatenation": "shared", "threshold_rate": 1.0}
    circuits = [small(**shared, grad_factor=factor).fit(*mixed).circuit_ for factor in (1.0, 3.0)]
    assert circuits[0] != circuits[1]


def test_every_parameter_is_tested() -> None:
    elsewhere = {"grad_factor", "selection_fits", "n_jobs", "verbose", "on_interrupt"}
    elsewhere |= {"relaxation", "engine", "device", "trace_every"}  # test_engine_runs.py
    elsewhere |= {"simplify"}  # test_simplify.py
    elsewhere |= {"effort", "storage"}  # test_select.py, test_storage.py
    elsewhere |= {"n_trees", "screening"}  # test_growth.py, test_screen.py
    elsewhere |= {"validation_every", "validation_score"}  # test_presets.py
    elsewhere |= {"ensemble", "init"}  # test_ensemble.py, test_earlier.py
    elsewhere |= {"gates"}  # test_readable.py
    elsewhere |= {"max_rules", "max_literals", "max_literals_per_rule", "max_columns"}
    elsewhere |= {"column_costs", "max_cost", "path"}  # tests/paths
    elsewhere |= {"rules", "soft_rules"}  # test_given_rules.py
    elsewhere |= {"monotone", "interactions", "forbidden_pairs", "unused_columns"}
    elsewhere |= {"max_columns_per_rule"}  # test_constraints.py
    assert {name for name, _ in OTHER_VALUES} | elsewhere == set(DLNClassifier().get_params())


BAD_VALUES: dict[str, list[Any]] = {
    "gates": ["xor", None, 1],
    "max_rules": [0, -1, 1.5, "many"],
    "max_literals": [0, 2.5],
    "max_literals_per_rule": [0, "3"],
    "max_columns": [0, 1.5],
    "column_costs": [3, "age=1"],
    "max_cost": [-1, "much"],
    "path": ["yes", 1],
    "rules": [3, ["ill:"]],
    "soft_rules": [3, ["ill:"]],
    "monotone": [3, {"nobody": "+"}, "+"],
    "interactions": [3, [["nobody"]]],
    "forbidden_pairs": [3, [("nobody", "no one")]],
    "unused_columns": [3, ["nobody"]],
    "max_columns_per_rule": [0, 1.5, "one"],
    "preset": ["default", 1, True],
    "init": ["model.json", 1, {}],
    "link_drawing": ["all", None, 2],
    "ensemble": ["stacking", None, 3],
    "last_batch": ["keep", None, False],
    "vote_gradient": ["mixture", None, True],
    "validation_every": [0, 1.5, None, "ten"],
    "validation_score": ["sum", None, 2],
    "effort": ["auto", "much", None, 1],
    "scaling": ["log", None, 2],
    "layers": [(), (0,), (2.5,), "wide", None, 7],
    "n_networks": [0, 1.5, "many", None],
    "screening": [None, "yes", 2],
    "n_trees": [-1, 1.5, "many", None, 601],
    "n_cutoffs": [0, 2.5, "many", None, True],
    "n_links": [0, 2.5, "all"],
    "n_gates": [0, 17, None, "all"],
    "concatenation": ["both", None, True],
    "tau": [0, -1.0, np.nan, None, "hot", np.array([1.0, 2.0])],
    "epochs": [0, 1.5, None, "long"],
    "batch_size": [0, 1.5, None],
    "learning_rate": [-0.1, np.nan, None, "fast"],
    "final_rate": [-0.1, 1.1, None],
    "threshold_rate": [-1, np.inf, None],
    "slope": [0, -5, np.nan, None],
    "phases": ["both", None, 3],
    "relaxation": ["hard", None, 0.5],
    "gate_gradient": ["soft", None, True],
    "temperature": [0, -1, np.nan, "hot", None],
    "freezing": ["inputs-first", 0.5, Pruning()],
    "pruning": [0.5, Freezing(), "all"],
    "engine": ["tpu", None, 1],
    "device": ["abacus", None, 0],
    "simplify": ["much", True, 0],
    "trace_every": [-1, 0.5, None],
    "grad_factor": [-1, None, "big"],
    "vote_threshold": [0, 1, 1.5, None],
    "vote_density": [-0.1, 1.1, None, "off"],
    "validation_fraction": [-0.1, 1, 1.0, np.nan, None, "some", True],
    "selection_fits": [-1, 1.5, None],
    "class_weight": ["even", 3, {"nobody": 1.0}, {"ill": -1.0}, {"ill": "much"}, {"ill": np.nan}],
    "probabilities": ["even", None, 1],
    "decision_threshold": [0, 1, "half", True, np.nan],
    "costs": [3, [[0, 1]], {"ill": 1.0}, {("ill", "well"): -1.0}],
    "sensitivity_at_least": [0, 1.5, "ill", {"nobody": 0.5}, {"ill": 2}],
    "random_state": ["seed", -1, 1.5],
    "n_jobs": [0, 1.5, "all"],
    "verbose": [-1, "loud", None],
    "on_interrupt": ["stop", None, np.array(["raise", "keep"])],
    "storage": [1, True, ["work"]],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_VALUES.items() for value in values]
)
def test_a_bad_parameter_is_refused_by_its_name(name: str, value: Any, mixed: Any) -> None:
    with pytest.raises(OptionError, match=f"^{name} "):
        small(**{name: value}).fit(*mixed)


@UNDERTRAINED
@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("layers", [np.uint8(200), np.int8(100)], (200, 100)),
        ("n_cutoffs", np.uint8(255), 255),
        ("n_links", np.int8(100), 100),
        ("epochs", np.int8(3), 3),
        ("selection_fits", np.uint8(2), 2),
        ("tau", np.float16(4), 4.0),
    ],
)
def test_numpy_numbers_are_accepted_as_parameters(
    name: str, value: Any, plain: Any, mixed: Any
) -> None:
    others = {"epochs": 2, "tau": "auto" if name == "selection_fits" else 2.0}
    expected = small(**{**others, name: plain}).fit(*mixed).circuit_
    assert small(**{**others, name: value}).fit(*mixed).circuit_ == expected


def test_every_parameter_has_bad_values() -> None:
    assert set(BAD_VALUES) == set(DLNClassifier().get_params())
