"""Models in the tools of others: MLflow, skl2onnx, AutoGluon. Each module needs its own package."""
