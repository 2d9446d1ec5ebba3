"""The paper's experiment as commands: cells of (dataset, model, seed) -> result files -> tables."""
