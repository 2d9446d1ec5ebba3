"""Circuit or scikit-learn model -> counts of operations, gates, parameters and bytes."""
