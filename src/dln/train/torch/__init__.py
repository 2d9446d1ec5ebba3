"""The reference engine: the paper's layers as PyTorch modules, and their training.

The other engines are tested against these modules. The modules can also be used in a PyTorch model,
on any device, and be converted to a `Circuit`.
"""

from dln.errors import ExtraMissingError

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ExtraMissingError.for_packages("engine 'torch'", "torch") from error

from dln.train.torch.circuit import to_circuit
from dln.train.torch.engine import train_population
from dln.train.torch.layers import LogicLayer, SumLayer, ThresholdLayer, WeightLayer
from dln.train.torch.mode import Mode, Phase, RelaxedLayer, freeze, set_mode
from dln.train.torch.network import LogicNetwork

__all__ = [
    "LogicLayer",
    "LogicNetwork",
    "Mode",
    "Phase",
    "RelaxedLayer",
    "SumLayer",
    "ThresholdLayer",
    "WeightLayer",
    "freeze",
    "set_mode",
    "to_circuit",
    "train_population",
]
