"""Circuits as versioned JSON files.

Promise: saving and loading gives an equal circuit. A file that is truncated, edited or hostile is
refused with one line that says what is wrong with it. The contents of a file are bounded
(`BOUNDS`), so that a small file cannot exhaust the memory.
"""

from dln.core.model_file.limits import BOUNDS, VERSION
from dln.core.model_file.read import circuit_from_json, read_circuit_file
from dln.core.model_file.write import circuit_to_json, write_circuit_file

__all__ = [
    "BOUNDS",
    "VERSION",
    "circuit_from_json",
    "circuit_to_json",
    "read_circuit_file",
    "write_circuit_file",
]
