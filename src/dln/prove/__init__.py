"""Two circuits -> a proof that they agree on every row, or a row on which they differ."""
