"""Table -> circuits of every size within a budget, each with its validated accuracy."""
