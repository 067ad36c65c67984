// How the code that Inductor generates starts its kernels, one driver launch each: `@{ cookiecutter.package }@._C.launch_compiled` from
// Python, `@{ cookiecutter.package }@_launch` from C++. The kernels themselves are compiled by Inductor and come as addresses.
#include "python/launch.h"

#include <algorithm>

#include "runtime/device.h"
#include "runtime/stream.h"

namespace @{ cookiecutter.package }@ {
namespace {

// A tensor without elements has no address, and no kernel reads it; but the driver wants an address on the device.
void give_every_buffer_an_address(std::vector<void*>& addresses) {
  const auto any = std::find_if(addresses.begin(), addresses.end(), [](const void* it) { return it != nullptr; });
  if (any != addresses.end()) {
    std::replace(addresses.begin(), addresses.end(), static_cast<void*>(nullptr), *any);
  }
}

@{ cookiecutter.device }@Status launch(@{ cookiecutter.device }@Kernel_t kernel, std::vector<void*> addresses, const void* params, size_t params_bytes,
                 c10::DeviceIndex device) {
  give_every_buffer_an_address(addresses);
  if (addresses.empty() || addresses.front() == nullptr) {
    return @{ cookiecutter.DEVICE }@_SUCCESS; // nothing to read and nothing to write
  }
  return @{ cookiecutter.device }@LaunchKernel(kernel, addresses.data(), static_cast<int>(addresses.size()), params, params_bytes,
                         current_driver_stream(device));
}

} // namespace

void launch_compiled(uintptr_t kernel, const std::vector<at::Tensor>& buffers, const std::string& params) {
  TORCH_CHECK(!buffers.empty(), "a compiled kernel was given no buffers");
  const c10::Device device = buffers.front().device();
  TORCH_CHECK(device.is_privateuseone(), "a compiled kernel for @{ cookiecutter.device }@ was given a tensor on ", device);
  std::vector<void*> addresses;
  for (const at::Tensor& buffer : buffers) {
    TORCH_CHECK(buffer.device() == device, "a compiled kernel for ", device, " was given a tensor on ",
                buffer.device());
    addresses.push_back(buffer.numel() > 0 ? buffer.data_ptr() : nullptr);
  }
  @{ cookiecutter.DEVICE }@_CHECK(launch(reinterpret_cast<@{ cookiecutter.device }@Kernel_t>(kernel), std::move(addresses), params.data(), params.size(),
                   device.index()));
}

} // namespace @{ cookiecutter.package }@

extern "C" const char* @{ cookiecutter.package }@_launch(@{ cookiecutter.device }@Kernel_t kernel, void* const* buffers, int buffer_count, const void* params,
                                        size_t params_bytes, int device) {
  const @{ cookiecutter.device }@Status status = @{ cookiecutter.package }@::launch(kernel, {buffers, buffers + buffer_count}, params, params_bytes,
                                             static_cast<c10::DeviceIndex>(device));
  return status == @{ cookiecutter.DEVICE }@_SUCCESS ? nullptr : @{ cookiecutter.device }@StatusString(status);
}
