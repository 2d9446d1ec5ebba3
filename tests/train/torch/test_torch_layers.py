"""The PyTorch layers do what the paper's table of layers says, phase by phase."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tensors here are small

from dln import Gumbel  # noqa: E402
from dln.core.gates import GATES, PRIORITY  # noqa: E402
from dln.train.options import Relaxation  # noqa: E402
from dln.train.torch import (  # noqa: E402
    LogicLayer,
    Mode,
    Phase,
    RelaxedLayer,
    SumLayer,
    ThresholdLayer,
    freeze,
    set_mode,
)

Tensor = torch.Tensor
ROWS, INPUTS, GATE_COUNT = 7, 6, 5


def logic_layer(n_links: int | None = 4, n_gates: int = 16, seed: int = 0) -> LogicLayer:
    """A layer in float64 with logits that are far from uniform."""
    rng = np.random.default_rng(seed)
    layer = LogicLayer(INPUTS, GATE_COUNT, n_links=n_links, n_gates=n_gates, rng=rng).double()
    with torch.no_grad():
        layer.link_logits.copy_(torch.tensor(rng.normal(size=layer.link_logits.shape)))
        layer.gate_logits.copy_(torch.tensor(rng.normal(size=layer.gate_logits.shape)))
    return layer


def soft_rows(seed: int = 0, width: int = INPUTS) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).random((ROWS, width)), requires_grad=True)


def bit_rows(seed: int = 0, width: int = INPUTS) -> Tensor:
    bits = np.random.default_rng(seed).integers(0, 2, (ROWS, width)).astype(float)
    return torch.tensor(bits, requires_grad=True)


# -- the paper's formulas, one neuron at a time, all 16 functions written out -------------------


def mixture_of_functions(layer: LogicLayer, gate: int, a: Tensor, b: Tensor) -> Tensor:
    weights = torch.softmax(layer.gate_logits[gate], dim=0)
    codes = layer.gate_choices.tolist()
    total = torch.zeros_like(a)
    for weight, code in zip(weights, codes, strict=True):
        t00, t01, t10, t11 = GATES[code].table
        soft = t00 * (1 - a) * (1 - b) + t01 * (1 - a) * b + t10 * a * (1 - b) + t11 * a * b
        total = total + weight * soft
    return total


def first_function(layer: LogicLayer, gate: int, a: Tensor, b: Tensor) -> Tensor:
    code = layer.gate_choices.tolist()[int(layer.gate_logits[gate].argmax())]
    soft: Tensor = GATES[code].soft(a, b)  # type: ignore[arg-type, assignment]
    return soft


def mixture_of_wires(layer: LogicLayer, gate: int, side: int, rows: Tensor) -> Tensor:
    weights = torch.softmax(layer.link_logits[gate, side], dim=0)
    return (rows[:, layer.link_wires[gate, side]] * weights).sum(dim=1)


def first_wire(layer: LogicLayer, gate: int, side: int, rows: Tensor) -> Tensor:
    best = int(layer.link_logits[gate, side].argmax())
    return rows[:, layer.link_wires[gate, side, best]]


def by_gate(layer: LogicLayer, rows: Tensor, wire: object, function: object) -> Tensor:
    gates = [
        function(layer, gate, wire(layer, gate, 0, rows), wire(layer, gate, 1, rows))  # type: ignore[operator]
        for gate in range(GATE_COUNT)
    ]
    return torch.stack(gates, dim=1)


FORMULAS = {
    Phase.GATES: (first_wire, mixture_of_functions),
    Phase.LINKS: (mixture_of_wires, first_function),
    Phase.BOTH: (mixture_of_wires, mixture_of_functions),
}


@pytest.mark.parametrize("n_links", [1, 4, None])
@pytest.mark.parametrize("n_gates", [1, 8, 16])
@pytest.mark.parametrize("phase", list(Phase))
def test_a_soft_logic_layer_is_the_formula_of_its_phase(
    phase: Phase, n_links: int | None, n_gates: int
) -> None:
    layer, rows = logic_layer(n_links, n_gates), soft_rows()
    set_mode(layer, Mode(phase, "soft"))
    expected = by_gate(layer, rows, *FORMULAS[phase])
    assert_allclose(layer(rows).detach(), expected.detach(), atol=1e-12)


@pytest.mark.parametrize("phase", list(Phase))
def test_straight_through_uses_hard_choices_forward_and_mixtures_backward(
    phase: Phase,
) -> None:
    # The paper's h = detach(f - g) + g around both links and gates, on bits.
    layer, rows = logic_layer(), bit_rows()
    set_mode(layer, Mode(phase, "straight-through", gate_gradient="mixture"))
    hard = by_gate(layer, rows, first_wire, first_function)

    wire, function = FORMULAS[phase]

    def straight(layer: LogicLayer, gate: int, side: int, rows: Tensor) -> Tensor:
        soft = wire(layer, gate, side, rows)
        return (first_wire(layer, gate, side, rows) - soft).detach() + soft

    expected = by_gate(layer, rows, straight, function)
    output = layer(rows)
    assert_array_equal(output.detach(), hard.detach())
    weights = torch.tensor(np.random.default_rng(3).normal(size=output.shape))
    wanted = [rows, *layer.parameters()]
    found = torch.autograd.grad((output * weights).sum(), wanted, allow_unused=True)
    right = torch.autograd.grad((expected * weights).sum(), wanted, allow_unused=True)
    for got, want in zip(found, right, strict=True):
        assert (got is None) == (want is None)
        if got is not None:
            assert_allclose(got, want, atol=1e-10)


def test_the_hard_gate_gradient_passes_through_the_first_function() -> None:
    layer, rows = logic_layer(), bit_rows()
    set_mode(layer, Mode(Phase.GATES, gate_gradient="hard"))
    hard = by_gate(layer, rows, first_wire, first_function)
    (found,) = torch.autograd.grad(layer(rows).sum(), rows)
    (expected,) = torch.autograd.grad(hard.sum(), rows)
    assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("relaxation", ["straight-through", "soft", "gumbel"])
def test_a_phase_trains_only_its_own_parameters(phase: Phase, relaxation: Relaxation) -> None:
    model = torch.nn.Sequential(
        ThresholdLayer([0, 1, 1], [0.2, 0.4, 0.6]).double(),
        LogicLayer(3, 4, rng=np.random.default_rng(0)).double(),
        SumLayer(4, 2, rng=np.random.default_rng(0)).double(),
    )
    set_mode(model, Mode(phase, relaxation))
    model(soft_rows(width=2)).sum().backward()
    trained = {name.split(".")[1] for name, p in model.named_parameters() if p.grad is not None}
    functions, links = {"cutoffs", "slopes", "gate_logits"}, {"link_logits", "vote_logits"}
    expected = {Phase.GATES: functions, Phase.LINKS: links, Phase.BOTH: functions | links}
    assert trained == expected[phase]


def test_thresholds_are_heaviside_or_sigmoid_and_missing_values_are_false() -> None:
    layer = ThresholdLayer([0, 1], [0.5, 0.25], slope=[2.0, 4.0])
    rows = torch.tensor([[0.5, 0.3], [0.7, float("nan")], [0.1, 0.0]])
    hard = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    assert layer.eval()(rows).tolist() == hard
    layer.train()
    set_mode(layer, Mode(Phase.LINKS))
    assert layer(rows).tolist() == hard
    set_mode(layer, Mode(Phase.GATES, "soft"))
    sigmoid = 1 / (1 + np.exp(-np.array([[0.0, 0.2], [0.4, 0.0], [-0.8, -1.0]])))
    sigmoid[1, 1] = 0.0
    assert_allclose(layer(rows).detach(), sigmoid, rtol=1e-6)
    set_mode(layer, Mode(Phase.GATES))
    assert layer(rows).tolist() == hard
    layer(rows)[1, 1].backward()
    assert layer.cutoffs.grad is not None
    assert layer.cutoffs.grad.tolist() == [0.0, 0.0]


def test_a_sum_layer_counts_links_that_are_on_and_in_phase_two_their_sigmoids() -> None:
    layer = SumLayer(INPUTS, 3, vote_threshold=0.7, rng=np.random.default_rng(0)).double()
    rows = soft_rows()
    sigmoid = torch.sigmoid(layer.vote_logits)
    on = (sigmoid >= 0.7).double()
    assert 0 < on.mean() < 1
    assert_allclose(layer.eval()(rows).detach(), (rows @ on.T).detach(), atol=1e-12)
    layer.train()
    set_mode(layer, Mode(Phase.LINKS, "soft"))
    assert_allclose(layer(rows).detach(), (rows @ sigmoid.T).detach(), atol=1e-12)
    set_mode(layer, Mode(Phase.LINKS))
    output = layer(rows)
    assert_allclose(output.detach(), (rows @ on.T).detach(), atol=1e-12)
    (gradient,) = torch.autograd.grad(output.sum(), rows)
    assert_allclose(gradient, sigmoid.sum(dim=0).expand(ROWS, -1).detach(), atol=1e-12)


# -- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_gates", range(1, 17))
def test_a_gate_subspace_is_the_first_of_the_priority_order(n_gates: int) -> None:
    layer = LogicLayer(4, 3, n_gates=n_gates)
    names = [GATES[code].name for code in layer.gate_choices.tolist()]
    assert names == [gate.name for gate in PRIORITY[:n_gates]]


@pytest.mark.parametrize(("n_links", "expected"), [(1, 1), (3, 3), (6, 6), (9, 6), (None, 6)])
def test_a_link_subspace_holds_the_given_number_of_different_wires(
    n_links: int | None, expected: int
) -> None:
    lists = LogicLayer(6, 10, n_links=n_links).link_wires.flatten(0, 1).tolist()
    assert all(len(set(wires)) == len(wires) == expected for wires in lists)


def test_masked_candidates_are_never_chosen_and_get_no_gradient() -> None:
    layer, rows = logic_layer(n_links=4), bit_rows()
    with torch.no_grad():
        layer.link_logits[:, :, 0] = -torch.inf
    layer(rows).sum().backward()
    assert layer.link_logits.grad is not None
    assert_array_equal(layer.link_logits.grad[:, :, 0], 0.0)
    assert torch.all(torch.isfinite(layer.link_logits.grad))


def test_gumbel_noise_chooses_by_the_softmax_of_the_logits_over_its_scale() -> None:
    # argmax(logits + s * Gumbel) is k with probability softmax(logits / s)_k.
    logits = torch.tensor([0.0, 0.3, -0.5, 0.8])
    layer = RelaxedLayer(4)
    generator = torch.Generator().manual_seed(0)
    set_mode(layer, Mode(relaxation=Gumbel(0.5), generator=generator))
    draws = layer.noisy(logits.expand(40_000, -1)).argmax(dim=1)
    found = torch.bincount(draws, minlength=4) / len(draws)
    assert_allclose(found, torch.softmax(logits / 0.5, dim=0), atol=0.01)


def test_gumbel_without_noise_is_straight_through_and_with_noise_it_explores() -> None:
    layer, rows = logic_layer(), bit_rows()
    plain = layer(rows)
    set_mode(layer, Mode(relaxation=Gumbel(0.0)))
    assert_array_equal(layer(rows).detach(), plain.detach())
    set_mode(layer, Mode(relaxation=Gumbel(5.0), generator=torch.Generator().manual_seed(1)))
    noisy = torch.stack([layer(rows) for _ in range(20)])
    assert torch.all((noisy == 0) | (noisy == 1))
    assert not torch.all(noisy == plain)
    layer.eval()
    assert_array_equal(layer(rows).detach(), plain.detach())


def test_a_temperature_sharpens_the_mixtures_and_leaves_the_choice() -> None:
    layer, rows = logic_layer(), bit_rows()
    hard = layer.eval()(rows)
    layer.train()
    distances = []
    for temperature in (4.0, 1.0, 0.25, 0.01):
        set_mode(layer, Mode(relaxation="soft", temperature=temperature))
        distances.append(float((layer(rows) - hard).detach().abs().mean()))
        set_mode(layer, Mode(temperature=temperature))
        assert_array_equal(layer(rows).detach(), hard.detach())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-3


def test_grad_factor_scales_the_gradient_and_not_the_value() -> None:
    layer, rows = logic_layer(), bit_rows()
    plain = layer(rows)
    (before,) = torch.autograd.grad(plain.sum(), layer.gate_logits)
    set_mode(layer, Mode(grad_factor=1.5))
    scaled = layer(rows)
    (after,) = torch.autograd.grad(scaled.sum(), layer.gate_logits)
    assert_array_equal(scaled.detach(), plain.detach())
    assert_allclose(after, 1.5 * before, atol=1e-12)


def test_a_frozen_layer_is_hard_and_passes_gradients_through_its_first_choices() -> None:
    layer, rows = logic_layer(), soft_rows()
    set_mode(layer, Mode(relaxation="soft"))
    freeze(layer)
    hard = by_gate(layer, rows, first_wire, first_function)
    (found,) = torch.autograd.grad(layer(rows).sum(), rows)
    (expected,) = torch.autograd.grad(hard.sum(), rows)
    assert_allclose(found, expected, atol=1e-12)
    assert not any(parameter.requires_grad for parameter in layer.parameters())
