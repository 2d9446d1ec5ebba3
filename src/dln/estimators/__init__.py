"""The scikit-learn interface. It connects the stages and holds no algorithm."""
