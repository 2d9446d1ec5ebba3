"""Learn small, readable logic circuits from tables."""
