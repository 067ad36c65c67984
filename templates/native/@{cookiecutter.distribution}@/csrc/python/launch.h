// Launches of compiled code.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "@{ cookiecutter.device }@_driver.h"

namespace @{ cookiecutter.package }@ {

// Enqueues a kernel that Inductor has generated on the current stream of its buffers' device. `kernel` is the address
// of a @{ cookiecutter.device }@Kernel_t, `params` its argument block.
void launch_compiled(uintptr_t kernel, const std::vector<at::Tensor>& buffers, const std::string& params);

} // namespace @{ cookiecutter.package }@

// The same for generated C++, which looks it up by name: device addresses, and null or what went wrong.
extern "C" @{ cookiecutter.DEVICE }@_API const char* @{ cookiecutter.package }@_launch(@{ cookiecutter.device }@Kernel_t kernel, void* const* buffers, int buffer_count,
                                                const void* params, size_t params_bytes, int device);
