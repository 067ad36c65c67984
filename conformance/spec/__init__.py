"""The suite as data: YAML files read into typed, frozen specs, their digests, and the plan of what has to run."""
