"""Scaffold, measure and certify out-of-tree PyTorch backends."""

__version__ = "0.1.0"
