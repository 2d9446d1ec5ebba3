"""Rules as text -> Circuit: the parser of what circuits print."""
