"""Fuzzers that compare dln with independent, simple computations: `make fuzz` runs them."""
