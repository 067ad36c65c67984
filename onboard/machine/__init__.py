"""What this machine has: toolchain, torch, backends, device profiles. Nothing here imports torch into this process."""
