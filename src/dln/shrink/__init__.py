"""Circuit -> smaller circuit: without any change (simplify), or almost (prune)."""
