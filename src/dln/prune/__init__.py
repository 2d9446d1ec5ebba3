"""Circuit + rows -> smaller circuits that predict almost the same, and what each gives up."""
