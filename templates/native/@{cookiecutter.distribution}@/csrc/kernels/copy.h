// Copies within one device: any strides, any dtypes.
#pragma once

#include <ATen/core/Tensor.h>

namespace @{ cookiecutter.package }@ {

// dst = src, broadcast and converted; both on the same device. Throws if dst overlaps itself or, in part, src.
void copy_on_device(const at::Tensor& dst, const at::Tensor& src);

} // namespace @{ cookiecutter.package }@
