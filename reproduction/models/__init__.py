"""The models of the experiment: each searches, fits and tests on a task."""
