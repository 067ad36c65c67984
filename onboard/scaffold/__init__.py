"""Answers, validated, rendered into a backend package."""
