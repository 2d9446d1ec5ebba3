"""What users bring: tables, targets and weights."""
