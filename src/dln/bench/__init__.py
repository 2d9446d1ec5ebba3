"""The paper's experiment: run (dataset, model, seed) cells, store results, make tables."""
