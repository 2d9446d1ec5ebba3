"""Votes on rows that were not trained on -> base votes and probabilities of a circuit."""
