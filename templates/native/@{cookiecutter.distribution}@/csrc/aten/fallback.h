// The CPU fallback: operators without a kernel run on the host and are counted.
#pragma once

#include <ATen/native/CPUFallback.h>

#include <cstdint>
#include <map>
#include <string>

namespace @{ cookiecutter.package }@ {

// Runs the operator on host copies of its tensors and counts it; throws NotImplementedError where the fallback is off.
void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// For a kernel that serves some of its inputs only, such as some dtypes, and hands the others to the fallback by name:
//   if (!is_computed(self)) return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(exp_out)(self, out);
#define @{ cookiecutter.DEVICE }@_CPU_FALLBACK(OPERATOR) at::native::call_fallback_fn<&::@{ cookiecutter.package }@::cpu_fallback, at::_ops::OPERATOR>::call

// TORCH_@{ cookiecutter.DEVICE }@_CPU_FALLBACK=0, read once when the backend is loaded.
bool is_fallback_enabled();
// Calls per operator overload since the start or the last reset.
std::map<std::string, uint64_t> fallback_counts();
void reset_fallback_counts();
void count_fallback(const std::string& name);
// Throws what PyTorch throws for a missing kernel.
[[noreturn]] void throw_no_kernel(const std::string& name);

} // namespace @{ cookiecutter.package }@
