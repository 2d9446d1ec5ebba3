"""Table -> circuits of every size within a budget, from one rule on, each with a validated score."""
