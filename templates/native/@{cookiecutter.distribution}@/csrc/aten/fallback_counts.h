// What Python asks of the CPU fallback: whether it is on, and what it served. Apart from fallback.h, which pulls in most
// of PyTorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace @{ cookiecutter.package }@ {

// TORCH_@{ cookiecutter.DEVICE }@_CPU_FALLBACK=0, read once when the backend is loaded.
bool is_fallback_enabled();
// Calls per operator overload since the start or the last reset.
std::map<std::string, uint64_t> fallback_counts();
void reset_fallback_counts();
void count_fallback(const std::string& name);
// Throws what PyTorch throws for a missing kernel.
[[noreturn]] void throw_no_kernel(const std::string& name);

} // namespace @{ cookiecutter.package }@
