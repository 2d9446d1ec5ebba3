"""Circuit -> smaller Circuit, same votes."""
