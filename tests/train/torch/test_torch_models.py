"""The PyTorch layers in a user's model: training, loading, errors, conversion to a circuit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.support.jobs import random_job

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tensors here are small

from dln import Above, Column  # noqa: E402
from dln.errors import CircuitError, OptionError, TableError  # noqa: E402
from dln.train.network import Shape  # noqa: E402
from dln.train.torch import (  # noqa: E402
    LogicLayer,
    LogicNetwork,
    Mode,
    SumLayer,
    ThresholdLayer,
    set_mode,
    to_circuit,
)


def test_layers_learn_in_a_pytorch_model_and_become_a_circuit() -> None:
    rng = np.random.default_rng(0)
    X = torch.tensor(rng.random((400, 2)), dtype=torch.float32)
    y = ((X[:, 0] > 0.6) & (X[:, 1] <= 0.4)).long()
    model = torch.nn.Sequential(
        ThresholdLayer([0, 0, 1, 1], [0.3, 0.6, 0.4, 0.7], slope=20.0),
        LogicLayer(4, 12, n_links=None, n_gates=16, rng=rng),
        LogicLayer(12, 8, rng=rng),
        SumLayer(8, 2, rng=rng),
    )
    thresholds, *others = model
    rest = [parameter for layer in others for parameter in layer.parameters()]
    optimizer = torch.optim.Adam(
        [{"params": thresholds.parameters(), "lr": 0.005}, {"params": rest, "lr": 0.05}]
    )
    weight = 1 / torch.bincount(y)
    for _ in range(300):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(X) / 2.0, y, weight).backward()
        optimizer.step()
    model.eval()
    circuit = to_circuit(model, columns=["size", Column("age", "number")], classes=["no", "yes"])
    assert_array_equal(circuit.votes(X.numpy()), model(X).detach().int())
    accuracy = (circuit.winners(X.numpy()) == y.numpy()).mean()
    assert accuracy > 0.9
    assert all(isinstance(literal, Above) for literal in circuit.literals)


def small_model() -> torch.nn.Sequential:
    return torch.nn.Sequential(
        ThresholdLayer([0, 1, 1], [0.2, 0.4, 0.6]), LogicLayer(3, 4), SumLayer(4, 2)
    )


def test_a_loaded_state_includes_the_wiring() -> None:
    first, second, rows = small_model(), small_model(), torch.rand(20, 2)
    first(rows).sum().backward()
    first.zero_grad()
    first.load_state_dict(second.state_dict())
    for model in (first, second):
        model(rows).square().sum().backward()
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert_array_equal(one.grad, other.grad)


def test_rows_may_have_more_dimensions_and_may_be_empty() -> None:
    model, rows = small_model(), torch.rand(3, 5, 2)
    assert_array_equal(model(rows).detach(), model(rows.view(15, 2)).view(3, 5, 2).detach())
    assert model(rows[:0]).shape == (0, 5, 2)
    assert model(rows[0, 0]).shape == (2,)
    with pytest.raises(TableError, match="the rows have 3 columns, expected 2"):
        model(torch.rand(4, 3))


def test_rows_of_another_precision_are_accepted() -> None:
    model = small_model()
    for relaxation in ("straight-through", "soft"):
        set_mode(model, Mode(relaxation=relaxation))
        assert model(torch.rand(4, 2, dtype=torch.float64)).shape == (4, 2)
    many = SumLayer(2_000, 1, vote_density=1.0).bfloat16().eval()
    assert many(torch.ones(1, 2_000, dtype=torch.bfloat16)).item() == 2_000


def test_the_seed_of_torch_is_used_without_a_generator() -> None:
    states = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        states.append(LogicLayer(9, 5).state_dict()["gate_logits"])
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogicLayer(4, 4, n_gates=17), "n_gates is 17"),
        (lambda: LogicLayer(4, 4, n_links=0), "n_links is 0"),
        (lambda: SumLayer(4, 2, vote_threshold=1.0), "vote_threshold is 1"),
        (lambda: ThresholdLayer([0, 1], [0.5]), "expected two lists of the same length"),
        (lambda: ThresholdLayer([0], [0.5], slope=-3.0), "slope is -3"),
        (lambda: ThresholdLayer([4], [0.5], n_inputs=3), "column 4 is read, but n_inputs is 3"),
    ],
)
def test_invalid_sizes_of_layers_are_refused(make: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()  # type: ignore[operator]


def test_the_repr_of_a_layer_shows_its_size() -> None:
    assert repr(LogicLayer(6, 4, n_links=3)) == "LogicLayer(6, 4, n_links=3, n_gates=8)"
    assert repr(SumLayer(6, 2)) == "SumLayer(6, 2)"


@pytest.mark.parametrize("concatenation", ["separate", "shared", "none"])
def test_a_network_becomes_a_circuit_with_matches_and_missing_values(concatenation: str) -> None:
    job = random_job(3, shape=Shape((9, 7), concatenation=concatenation))  # type: ignore[arg-type]
    columns = ["a", "b", "c", Column("kind", "category", ("x", "y", "z"))]
    network = LogicNetwork(job.network).eval()
    circuit = to_circuit(network, columns=columns, classes=["no", "yes"])
    cells = job.data.cells.astype(object)
    cells[:, 3] = [None if np.isnan(cell) else "xyz"[int(cell)] for cell in job.data.cells[:, 3]]
    votes = network(torch.as_tensor(job.data.cells)).detach().int()
    assert_array_equal(circuit.votes(cells), votes)


def test_other_modules_than_a_chain_of_layers_are_refused() -> None:
    first, last = ThresholdLayer([0, 2], [0.5, 0.5]), SumLayer(2, 2)
    with pytest.raises(CircuitError, match=r"expected a ThresholdLayer"):
        to_circuit([first, torch.nn.Linear(2, 2), last], columns=["x"], classes=[0, 1])
    with pytest.raises(CircuitError, match=r"1 columns and 2 classes were named, .* read 3"):
        to_circuit([first, last], columns=["x"], classes=[0, 1])
    with pytest.raises(CircuitError, match=r"3 classes were named, .* vote for 2"):
        to_circuit([first, last], columns=["x", "y", "z"], classes=[0, 1, 2])
