"""What runs against a device: the suite, the oracle, the runner. Never imports `onboard`."""
