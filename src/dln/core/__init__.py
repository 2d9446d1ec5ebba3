"""The words that everything uses: gates, literals, logic, readout, circuit, and its file."""
