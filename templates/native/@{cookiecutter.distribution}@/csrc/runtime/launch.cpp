// How code that Inductor has generated starts its kernels: one plain function, which generated Python and generated C++
// both look up by name. The kernels are compiled by Inductor and come as addresses.
#include <algorithm>
#include <vector>

#include "runtime/device.h"
#include "runtime/stream.h"

// Enqueues a kernel on the current stream of a device. `buffers` are addresses on that device, null for tensors without
// elements; `params` is the argument block. Returns null, or what went wrong.
extern "C" @{ cookiecutter.DEVICE }@_API const char* @{ cookiecutter.package }@_launch(@{ cookiecutter.device }@Kernel_t kernel, void* const* buffers, int buffer_count,
                                                const void* params, size_t params_bytes, int device) {
  // No kernel reads a tensor without elements, but the driver wants every address to be one on the device.
  std::vector<void*> addresses(buffers, buffers + buffer_count);
  const auto any = std::find_if(addresses.begin(), addresses.end(), [](const void* it) { return it != nullptr; });
  if (any == addresses.end()) {
    return nullptr; // nothing to read and nothing to write
  }
  std::replace(addresses.begin(), addresses.end(), static_cast<void*>(nullptr), *any);
  const @{ cookiecutter.device }@Status status =
      @{ cookiecutter.device }@LaunchKernel(kernel, addresses.data(), buffer_count, params, params_bytes,
                      @{ cookiecutter.package }@::current_driver_stream(static_cast<c10::DeviceIndex>(device)));
  return status == @{ cookiecutter.DEVICE }@_SUCCESS ? nullptr : @{ cookiecutter.device }@StatusString(status);
}
