"""Where inputs come from: the samples of OpInfo, their layouts, and how they travel to a device and back."""
