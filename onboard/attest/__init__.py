"""Signing a measurement and verifying it offline, without torch: cryptography and the standard library suffice."""
