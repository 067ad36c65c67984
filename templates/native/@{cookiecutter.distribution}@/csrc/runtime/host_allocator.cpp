// Pinned host memory, behind Tensor.pin_memory() and DataLoader(pin_memory=True).
#include "runtime/host_allocator.h"

#include <cstring>

#include "runtime/device.h"

namespace @{ cookiecutter.package }@ {
namespace {

void free_pinned(void* address) {
  if (address == nullptr || @{ cookiecutter.device }@IsForked()) {
    return;
  }
  const @{ cookiecutter.device }@Status status = @{ cookiecutter.device }@FreeHost(address);
  if (status != @{ cookiecutter.DEVICE }@_SUCCESS) {
    TORCH_WARN("@{ cookiecutter.device }@: freeing pinned memory failed: ", @{ cookiecutter.device }@StatusString(status));
  }
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    ensure_initialized();
    void* address = nullptr;
    if (bytes > 0) {
      @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@MallocHost(bytes, &address));
    }
    return {address, address, &free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* dst, const void* src, size_t bytes) const override { std::memcpy(dst, src, bytes); }
};

} // namespace

c10::Allocator* pinned_allocator() {
  static PinnedAllocator& instance = *new PinnedAllocator();
  return &instance;
}

} // namespace @{ cookiecutter.package }@
