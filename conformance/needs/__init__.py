"""What a user's own model needs of a device: the overloads that it calls, and how the device answers those calls."""
