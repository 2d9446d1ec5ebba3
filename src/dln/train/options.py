"""All options of training, each stated once: name, type, default, range, engines, purpose.

What follows from these tables: the checks, the documentation of `DLNClassifier`, the names and
ranges of search spaces, and the struct that native code and CUDA read (`headers/options.h`). A test
compares the signature of `DLNClassifier`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal as OneOf

from dln._util.option import Checked, decided, option
from dln.train.settings import Alternating, Annealing, Freezing, Gumbel, Pruning

Auto = OneOf["auto"]
Concatenation = OneOf["separate", "shared", "none"]
NumberEnsemble = OneOf["sum", "bagging", "residuals"]
Ensemble = NumberEnsemble | OneOf["boosting"]
FitEffort = OneOf["quick", "normal", "high", "best"]
GateGradient = OneOf["hard", "mixture"]
Gates = OneOf["all", "readable"]
LastBatch = OneOf["spread", "drop"]
LinkDrawing = OneOf["distinct", "repeated"]
Phases = OneOf["unified", "epochs", "batches"] | Alternating
Relaxation = OneOf["straight-through", "soft", "gumbel"] | Gumbel
Scaling = OneOf["quantiles", "range"]
ValidationScore = OneOf["validation", "both"]
VoteGradient = OneOf["soft", "hard"]
VoteStart = OneOf["undecided"]


@dataclass(frozen=True, kw_only=True)
class SharedOptions(Checked):
    """Options that the user sets and every engine reads unchanged."""

    learning_rate: float = option(0.05, "Adam's initial learning rate.", low=0.0, high=1e3)
    final_rate: float = option(
        0.03,
        "Final learning rate as a fraction of the initial one.",
        more="The rate falls along a cosine; 1 keeps it constant.",
        low=0.0,
        high=1.0,
    )
    threshold_rate: float = option(
        0.1,
        "Learning rate of thresholds and slopes as a fraction of the learning rate.",
        more="0 keeps the thresholds fixed.",
        low=0.0,
        high=1e3,
    )
    phases: Phases = option(
        "batches",
        "Train gates and links together, or alternate by epochs (the paper) or by batches.",
        more="`Alternating(5)` trains each for five epochs in turn (the paper's E; its T rounds "
        "are epochs / 2E).",
    )
    relaxation: Relaxation = option(
        "straight-through",
        "What replaces a discrete choice during training: the choice itself with the gradient of "
        "the mixture, the mixture, or the choice under noise.",
        more='`Gumbel(noise=0.5)` sets the noise. The last two require engine="torch".',
        only_in={"native": "straight-through", "cuda": "straight-through"},
    )
    gate_gradient: GateGradient = option(
        "hard",
        "Gradient that passes through a gate: that of its most likely function (the authors' "
        "program), or that of the mixture of its functions (the paper's formula).",
    )
    vote_gradient: VoteGradient = option(
        "soft",
        "Gradient from votes to rules while links are trained: that of the sigmoids of all vote "
        "links, or that of the links that are on (the authors' program).",
    )
    temperature: float | Annealing = option(
        1.0,
        "The logits of gates and links are divided by the temperature before their softmax.",
        more="`Annealing(1, 0.1)` lowers it from epoch to epoch.",
        low=1e-3,
        high=1e3,
        scheduled=True,
    )
    freezing: Freezing | None = option(
        None, "Fix one layer after another during training.", scheduled=True
    )
    pruning: Pruning | None = option(
        None, "Remove gates that do not settle on a function during training.", scheduled=True
    )
    grad_factor: float = option(
        1.0,
        "Multiplies the gradient after each layer in the backward pass.",
        more="Adam cancels a common factor, so it has an effect only if layers share wires "
        '(concatenation="shared").',
        low=0.0,
        high=1e6,
    )
    last_batch: LastBatch = option(
        "spread",
        "Rows that do not fill a batch: batches of nearly equal size hold all rows, or the rest is "
        "dropped in each epoch (the authors' program).",
        more="If there are fewer rows than one batch, they are one batch.",
    )
    validation_score: ValidationScore = option(
        "validation",
        "What the best epoch is chosen by: balanced accuracy on validation rows, or its sum with "
        "that on training rows (the authors' program).",
    )
    trace_every: int = option(
        0,
        "Record all parameters in `traces_` every `trace_every` epochs.",
        more="0 records nothing.",
        low=0,
        high=10**9,
    )


@dataclass(frozen=True, kw_only=True)
class FitOptions(SharedOptions):
    """The options of a fit, "auto" if the data decides."""

    effort: FitEffort = option(
        "normal",
        "How much work to spend on accuracy: it decides what is compared and trained for options "
        'that are "auto".',
        more='"quick" takes seconds and gives small circuits, "best" is as accurate as it gets. '
        "Every level gives one circuit.",
        searched=False,
    )
    layers: Auto | tuple[int, ...] = option(
        "auto",
        "Number of gates in each layer.",
        more="The last layer votes.",
        low=1,
        high=10**7,
    )
    n_networks: Auto | int = option(
        "auto",
        "Number of networks that vote together, trained from different starts.",
        more="More networks are slightly more accurate; fewer give a smaller circuit.",
        low=1,
        high=10_000,
    )
    ensemble: Ensemble = option(
        "sum",
        'How networks that vote together are trained. "sum": from different starts on all rows. '
        '"bagging": on bootstrap samples. "boosting": one after another, with more weight on rows '
        'that the last one got wrong. "residuals": one after another, each corrects the earlier '
        "ones.",
        more="All become one circuit. Boosted networks give more votes if they are more accurate. "
        'Trees (`n_trees`) are grown only with "sum".',
        searched=False,
    )
    n_trees: Auto | int = option(
        "auto",
        "Maximum number of small trees that are added to correct the errors of the networks.",
        more="Each leaf becomes a rule of the circuit. Rows left out choose the number. 0 "
        'grows none. "auto" grows trees if the fit compares sizes of networks, and none if '
        "`layers` or `n_networks` is stated.",
        low=0,
        high=600,
    )
    n_cutoffs: Auto | int = option(
        "auto",
        "Maximum number of thresholds that a numeric column starts with.",
        low=1,
        high=10**9,
        usual=6,
    )
    scaling: Scaling = option(
        "quantiles",
        "How numeric columns are scaled to [0, 1] for training: by their quantiles, or linearly "
        "from minimum to maximum (the paper).",
    )
    screening: bool = option(
        True,
        "Whether tables of more than 200 columns get thresholds only on columns that say more "
        "about the classes than noise does.",
    )
    n_links: int | None = option(
        16,
        "Number of candidate wires for each input of a gate (the paper's link subspace).",
        more="None means all wires.",
        low=1,
        high=10**6,
    )
    link_drawing: LinkDrawing = option(
        "distinct",
        "How candidate wires are drawn: all different and each wire equally often, or with "
        "replacement, so that inputs have fewer candidates (the authors' program).",
    )
    n_gates: int = option(
        16,
        "Number of gate functions to choose from, in the paper's order.",
        low=1,
        high=16,
    )
    gates: Gates = option(
        "all",
        'Gate functions to use: all, or only those that read as "and", "or" and "not".',
        more='"readable" leaves out XOR and XNOR. A fit with a budget never uses them.',
    )
    concatenation: Concatenation = option(
        "separate",
        "Thresholds that later layers read besides the previous layer: their own, those of the "
        "first layer, or none.",
    )
    tau: Auto | float = option(
        "auto",
        "The votes are divided by tau before the softmax.",
        more="On small tables tau is the regulariser that matters most: larger values give "
        "smoother models.",
        low=1e-3,
        high=1e6,
        usual=8.0,
    )
    epochs: Auto | int = option(
        "auto", "Number of passes over the training rows.", low=1, high=10**7, usual=100
    )
    batch_size: Auto | int = option(
        "auto",
        "Number of rows in a batch.",
        more='Batches without a class ignore its weight, so "auto" uses larger batches if a class '
        "is rare.",
        low=1,
        high=10**9,
        usual=64,
    )
    slope: float = option(
        20.0,
        "Initial slope of the thresholds, on columns scaled to [0, 1].",
        # The authors' program starts at 2, which is so flat that every row moves every cutoff.
        low=0.01,
        high=1e6,
    )
    vote_threshold: float = option(
        0.8,
        "A vote link is on if the sigmoid of its logit is at least this.",
        low=1e-3,
        high=0.999,
    )
    vote_density: Auto | VoteStart | float = option(
        "auto",
        "Fraction of vote links that are on at the start.",
        more='Their logits start within 0.5 of the threshold. "undecided" starts all logits within '
        "0.1 of 0, so that no link is on (the authors' program).",
        low=0.0,
        high=1.0,
    )
    selection_fits: Auto | int = option(
        "auto",
        'Number of networks trained for each of the best candidates when "auto" parameters are '
        "chosen by cross-validation.",
        more="Worse candidates are left out earlier. 0 chooses by the size of the table alone; so "
        'does "auto" with engine="torch".',
        low=0,
        high=10_000,
    )


@dataclass(frozen=True, kw_only=True)
class TrainOptions(SharedOptions):
    """The options of one training run, the same for all engines."""

    tau: float = decided(FitOptions, "tau")
    epochs: int = decided(FitOptions, "epochs")
    batch_size: int = decided(FitOptions, "batch_size")
    eval_every: int = option(
        0, "Epochs between two evaluations on validation rows; 0: never.", low=0, high=10**9
    )
    patience: int = option(
        0, "Epochs without improvement before stopping; 0: never.", low=0, high=10**9
    )
    weight_rate: float = option(
        0.1,
        "Learning rate of the weights of rules that predict a number, as a fraction of the "
        "learning rate.",
        low=0.0,
        high=1e3,
    )
    keep_best: bool = option(
        False, "Whether to restore the parameters of the best evaluation at the end."
    )
    seed: int = option(
        0, "Seed of the order of the rows and of Gumbel noise.", low=0, high=2**64 - 1
    )

    def untraced(self) -> TrainOptions:
        """Return the options without traces, for networks of a comparison."""
        return replace(self, trace_every=0)


def count_batches(options: TrainOptions, n_rows: int) -> int:
    """Return the number of batches of an epoch; see `SharedOptions.last_batch`."""
    if options.last_batch == "drop":
        return max(1, n_rows // options.batch_size)
    return -(-n_rows // options.batch_size)
