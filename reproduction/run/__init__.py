"""Run the cells that have no result yet, and store the results."""
