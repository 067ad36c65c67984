"""Running a plan: a supervisor that never imports torch, a fork server that has, and workers that may die."""
