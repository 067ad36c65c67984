"""From `--device NAME` to a live torch device: profiles, loading, and how an operator is served there."""
