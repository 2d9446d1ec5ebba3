"""Circuit + rows -> wires, votes and answers, and how good the answers are."""
