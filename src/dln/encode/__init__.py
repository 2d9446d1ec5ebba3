"""Table -> scaled columns and the literals that training starts from."""
