// Device start-up and the current device of each thread.
#include "runtime/device.h"

#include <atomic>
#include <mutex>

namespace @{ cookiecutter.package }@ {
namespace {

std::atomic<bool> initialized{false};
thread_local c10::DeviceIndex current = 0;

} // namespace

void ensure_initialized() {
  TORCH_CHECK(!@{ cookiecutter.device }@IsForked(), "Cannot re-initialize @{ cookiecutter.device }@ in forked subprocess. To use @{ cookiecutter.device }@ with multiprocessing, use the "
                              "'spawn' or 'forkserver' start method.");
  static std::once_flag once;
  std::call_once(once, [] {
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@Init());
    initialized = true;
  });
}

bool is_initialized() { return initialized; }

c10::DeviceIndex device_count() noexcept {
  int count = 0;
  return @{ cookiecutter.device }@GetDeviceCount(&count) == @{ cookiecutter.DEVICE }@_SUCCESS ? static_cast<c10::DeviceIndex>(count) : c10::DeviceIndex{0};
}

c10::DeviceIndex current_device() { return current; }

void set_device(c10::DeviceIndex index) { current = resolve_device(index); }

c10::DeviceIndex resolve_device(c10::DeviceIndex index) {
  if (index == -1) {
    return current;
  }
  TORCH_CHECK(index >= 0 && index < device_count(), "@{ cookiecutter.device }@ device index must be between 0 and ", device_count() - 1,
              ", got ", static_cast<int>(index));
  return index;
}

} // namespace @{ cookiecutter.package }@
