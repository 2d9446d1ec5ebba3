"""The cuda engine: trains thousands of networks in parallel on an NVIDIA GPU."""

from dln.train.cuda.engine import train_population

__all__ = ["train_population"]
