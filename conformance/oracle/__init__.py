"""The right answer, and how far from it is allowed."""
