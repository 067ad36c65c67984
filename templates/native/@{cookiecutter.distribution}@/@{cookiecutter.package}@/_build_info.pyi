"""Written by the build, CMakeLists.txt."""

TORCH_VERSION: str
