"""Circuit + edits by people -> Circuit, with a record of each edit and proof of its effect."""
