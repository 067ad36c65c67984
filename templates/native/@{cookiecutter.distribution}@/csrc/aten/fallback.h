// The CPU fallback: operators without a kernel run on the host and are counted.
#pragma once

#include <ATen/native/CPUFallback.h>

#include "aten/fallback_counts.h"

namespace @{ cookiecutter.package }@ {

// Runs the operator on host copies of its tensors and counts it; throws NotImplementedError where the fallback is off.
void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// For a kernel that serves some of its inputs only, such as some dtypes, and hands the others to the fallback by name:
//   if (!is_computed(self)) return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(exp_out)(self, out);
#define @{ cookiecutter.DEVICE }@_CPU_FALLBACK(OPERATOR) at::native::call_fallback_fn<&::@{ cookiecutter.package }@::cpu_fallback, at::_ops::OPERATOR>::call

} // namespace @{ cookiecutter.package }@
