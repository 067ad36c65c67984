"""What is verified: one module per area. A check plans its cases on the host and runs them on the device."""
