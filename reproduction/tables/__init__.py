"""Results -> tables and plots, next to the figures of the paper."""
