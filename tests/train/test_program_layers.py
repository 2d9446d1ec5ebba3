"""The presets layer by layer: outputs and gradients as recorded from a second definition."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from dln import _native  # noqa: E402
from dln.core.gates import PRIORITY  # noqa: E402
from dln.core.literals import LiteralKind  # noqa: E402
from dln.data.target import row_weights  # noqa: E402
from dln.estimators.presets import PRESETS, PresetName  # noqa: E402
from dln.train import native  # noqa: E402
from dln.train.jobs import Job, TrainingRows  # noqa: E402
from dln.train.network import Network  # noqa: E402
from dln.train.options import TrainOptions  # noqa: E402
from dln.train.schedule import make_schedule  # noqa: E402
from dln.train.torch import LogicLayer, Mode, Phase, SumLayer, ThresholdLayer, set_mode  # noqa: E402
from tests.support import program_layers as definition  # noqa: E402
from tests.support.autograd import native_gradients, torch_gradients, torch_points  # noqa: E402

RECORD = Path(__file__).with_name("program_layers.json")
CASES = [(phase, variant) for variant in definition.VARIANTS for phase in definition.PHASES]
every_case = pytest.mark.parametrize(("phase", "variant"), CASES)
START = definition.start()


def recorded(phase: str, variant: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))[variant][phase]
    return found


def test_the_definition_still_gives_the_recorded_numbers() -> None:
    now = {
        variant: {phase: definition.compute(phase, variant) for phase in definition.PHASES}
        for variant in definition.VARIANTS
    }
    if os.environ.get("DLN_WRITE_DOCS"):
        RECORD.write_text(json.dumps(now, indent=None) + "\n", "utf-8")
    before = json.loads(RECORD.read_text("utf-8"))
    for phase, variant in CASES:
        flat, expected = flatten(now[variant][phase]), flatten(before[variant][phase])
        assert_allclose(flat, expected, atol=1e-9)


def test_the_presets_differ_in_every_phase() -> None:
    for phase in definition.PHASES:
        one, other = (flatten(recorded(phase, variant)) for variant in definition.VARIANTS)
        assert np.abs(one - other).max() > 1e-3


def flatten(value: Any) -> NDArray[np.float64]:
    """Return all numbers of a document, in order."""
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, (dict, list)):
        return np.concatenate([flatten(part) for part in parts])
    return np.array([value], dtype=np.float64)


# -- the layers of PyTorch ------------------------------------------------------------------------


@every_case
def test_every_layer_gives_the_recorded_outputs_and_gradients(phase: str, variant: str) -> None:
    record = recorded(phase, variant)
    options = options_of(variant)
    mode = Mode(
        Phase(phase),
        gate_gradient=options.gate_gradient,
        vote_gradient=options.vote_gradient,
        grad_factor=options.grad_factor,
    )
    codes = np.array([gate.code for gate in PRIORITY[:8]], dtype=np.uint8)
    wires = None
    for layer in range(len(definition.LAYERS)):
        thresholds = ThresholdLayer(
            np.repeat([0, 1], 3), START["cutoffs"][layer], START["slopes"][layer]
        )
        bits = run(thresholds, mode, START["cells"].float(), record, f"thresholds {layer + 1}")
        assert_gradient(thresholds.cutoffs, record, "cutoffs", layer)
        assert_gradient(thresholds.slopes, record, "slopes", layer)
        inputs = bits if wires is None else torch.cat([wires, bits], dim=1)
        links = START["links"][layer].numpy()
        gates = LogicLayer.from_arrays(
            inputs.shape[1],
            np.broadcast_to(np.arange(links.shape[2]), links.shape),
            links,
            codes,
            START["gates"][layer].numpy(),
        )
        wires = run(gates, mode, inputs, record, f"gates {layer + 1}")
        assert_gradient(gates.gate_logits, record, "gates", layer)
        assert_gradient(gates.link_logits, record, "links", layer)
    assert wires is not None
    votes = SumLayer(definition.LAYERS[-1], 3)
    with torch.no_grad():
        votes.vote_logits.copy_(START["votes"][0])
    run(votes, mode, wires, record, "votes")
    assert_gradient(votes.vote_logits, record, "votes", 0)


def run(layer: Any, mode: Mode, inputs: Any, record: dict[str, Any], name: str) -> Any:
    """Run a layer forward, and backward from the recorded gradient of its outputs."""
    set_mode(layer, mode)
    outputs = layer.train()(inputs.detach())
    assert_allclose(outputs.detach().numpy(), record["outputs"][name], atol=1e-6)
    if outputs.requires_grad:
        # The recorded gradient is that behind the layer's factor.
        outputs.backward(torch.tensor(record["gradients of outputs"][name]))
    return outputs


def assert_gradient(parameter: Any, record: dict[str, Any], name: str, layer: int) -> None:
    expected = np.array(record["gradients"][name][layer])
    found = np.zeros_like(expected) if parameter.grad is None else parameter.grad.numpy()
    assert_allclose(found, expected, atol=2e-6, err_msg=name)


# -- the engines, which train a whole network -----------------------------------------------------


def options_of(variant: str) -> TrainOptions:
    preset = PRESETS[variant]  # type: ignore[index]
    names = ("gate_gradient", "vote_gradient", "last_batch")
    stated = {name: preset[name] for name in names if name in preset}
    return TrainOptions(tau=definition.TAU, grad_factor=definition.GRAD_FACTOR, epochs=1, **stated)


def recorded_job(variant: str) -> Job:
    """Return the recorded network as a job."""
    n_thresholds, n_literals = 6, 6 * len(definition.LAYERS)
    width = max(links.shape[2] for links in START["links"])
    wires, logits, first = [], [], 0
    for layer, links in enumerate(START["links"]):
        own = layer * n_thresholds + np.arange(n_thresholds)
        before = n_literals + first - (definition.LAYERS[layer - 1] if layer else 0)
        previous = before + np.arange(definition.LAYERS[layer - 1]) if layer else own[:0]
        inputs = np.concatenate([previous, own])
        short = width - len(inputs)
        padded = np.pad(inputs, (0, short), mode="wrap")
        wires.append(np.broadcast_to(padded, (len(links), 2, width)))
        pads = ((0, 0), (0, 0), (0, short))
        logits.append(np.pad(links.numpy(), pads, constant_values=-np.inf))
        first += definition.LAYERS[layer]
    network = Network(
        layers=definition.LAYERS,
        literal_kind=np.full(n_literals, LiteralKind.ABOVE, dtype=np.uint8),
        literal_column=np.tile(np.repeat([0, 1], 3), len(definition.LAYERS)).astype(np.int32),
        literal_layer=np.repeat(np.arange(len(definition.LAYERS)), 6).astype(np.int32),
        cutoffs=floats(START["cutoffs"]),
        slopes=floats(START["slopes"]),
        link_wires=np.ascontiguousarray(np.concatenate(wires), dtype=np.int32),
        link_logits=np.ascontiguousarray(np.concatenate(logits), dtype=np.float32),
        gate_choices=np.array([gate.code for gate in PRIORITY[:8]], dtype=np.uint8),
        gate_logits=floats(START["gates"]),
        rule_wires=(n_literals + 5 + np.arange(4)).astype(np.int32),
        vote_logits=floats(START["votes"]),
        vote_threshold=0.8,
    )
    name: PresetName = variant  # type: ignore[assignment]
    target = START["target"].numpy().astype(np.int32)
    class_weight = PRESETS[name].get("class_weight", "balanced")
    weight = row_weights(target, np.arange(3), None, class_weight)
    data = TrainingRows(START["cells"].numpy().astype(np.float32), target, weight)
    return Job(network, data, np.arange(len(target)), options_of(variant))


def floats(parts: list[Any]) -> NDArray[np.float32]:
    return np.concatenate([part.numpy() for part in parts]).astype(np.float32)


def assert_recorded(found: dict[str, Any], loss: float, phase: str, variant: str) -> None:
    record = recorded(phase, variant)
    assert loss == pytest.approx(record["loss"], rel=1e-5)
    for name, ours in zip(
        definition.PARAMETERS,
        ("cutoffs", "slopes", "gate_logits", "link_logits", "vote_logits"),
        strict=True,
    ):
        got = np.asarray(found[ours])
        if name == "links":  # the first layer is padded to the width of the second
            parts = np.split(got, np.cumsum(definition.LAYERS)[:-1])
            for part, expected in zip(parts, record["gradients"][name], strict=True):
                n_inputs = np.shape(expected)[2]
                assert_allclose(part[..., :n_inputs], expected, atol=2e-6, err_msg=name)
                assert not part[..., n_inputs:].any()
            continue
        expected = np.concatenate([np.array(part) for part in record["gradients"][name]])
        assert_allclose(got.reshape(expected.shape), expected, atol=2e-6, err_msg=name)


@every_case
def test_pytorch_gives_the_recorded_gradients(phase: str, variant: str) -> None:
    job = recorded_job(variant)
    votes = torch_points(job)
    assert_array_equal(votes, recorded(phase, variant)["outputs"]["votes"])
    loss, gradients = torch_gradients(job, Phase(phase))
    assert_recorded(gradients, loss, phase, variant)


@every_case
@pytest.mark.parametrize("level", ["generic", ""])
def test_native_code_gives_the_recorded_gradients(phase: str, variant: str, level: str) -> None:
    job = recorded_job(variant)
    bound = native.bind(_native, job, make_schedule(job.options, job.network))
    assert_array_equal(bound.points(job.rows), recorded(phase, variant)["outputs"]["votes"])
    found = bound.gradients(job.rows, definition.PHASES.index(phase), level)
    assert_recorded(native_gradients(found, job.network), found["loss"], phase, variant)


# -- batches, looks and links ---------------------------------------------------------------------


def test_the_last_incomplete_batch_is_dropped() -> None:
    # Batches of four of ten rows: two batches of four rows, and two other rows are left out in
    # each epoch.
    options = replace(options_of("program"), batch_size=4, epochs=1, phases="unified")
    drops, all_rows = (replace(options, last_batch=rest) for rest in ("drop", "spread"))  # type: ignore[arg-type]
    histories = []
    for chosen in (drops, all_rows):
        (result,) = native.train_population([replace(recorded_job("program"), options=chosen)])
        histories.append(result.history[0, 0])
    assert histories[0] != histories[1]
    # With fewer rows than one batch there is one batch, so both are the same.
    short = []
    for chosen in (drops, all_rows):
        job = replace(recorded_job("program"), options=replace(chosen, batch_size=64))
        short += native.train_population([job])
    assert_array_equal(short[0].network.gate_logits, short[1].network.gate_logits)
