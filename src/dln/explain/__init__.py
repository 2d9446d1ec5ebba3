"""Circuit -> what people read."""
