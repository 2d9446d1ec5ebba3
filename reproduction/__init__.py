"""The paper's experiment, repeated: run (dataset, model, seed) cells, store results, make tables.

It is a user of dln like any other and imports public names only. `python -m reproduction --help`
shows its commands; docs/measurements/reproduction.md explains the results.
"""
