"""Implementations that are right and are not the host's kernels: on these the suite has to be quiet."""
