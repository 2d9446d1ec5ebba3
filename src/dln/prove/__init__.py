"""Two circuits -> a proof that they vote alike, or a row on which they do not."""
