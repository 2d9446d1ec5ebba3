"""Circuit + rows -> smaller circuits that predict almost the same, with the loss of each."""
