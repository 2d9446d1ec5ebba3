"""Columns + target -> Circuit."""
