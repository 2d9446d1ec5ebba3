"""Small helpers that know nothing of circuits: files, messages, cores, progress."""
