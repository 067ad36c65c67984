"""Which overloads the plan reaches, counted by running it and never by names."""
