"""Circuit + rows -> smaller Circuits that predict almost the same, with what each gives up."""
