"""The cuda engine: thousands of networks trained side by side on an NVIDIA card."""

from dln.train.cuda.engine import train_population

__all__ = ["train_population"]
