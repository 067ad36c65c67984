// Hooks: what device-independent parts of PyTorch ask of this device. Interface: at::PrivateUse1HooksInterface.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <c10/core/Storage.h>

#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/generator.h"
#include "runtime/host_allocator.h"
#include "runtime/stream.h"

namespace @{ cookiecutter.package }@ {
namespace {

struct @{ cookiecutter.class_name }@Hooks final : at::PrivateUse1HooksInterface {
  void init() const override { ensure_initialized(); }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return @{ cookiecutter.package }@::device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return is_initialized(); }

  c10::DeviceIndex deviceCount() const override { return @{ cookiecutter.package }@::device_count(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_device(device); }
  c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const c10::DeviceIndex previous = current_device();
    if (device >= 0) {
      set_device(device);
    }
    return previous;
  }
  // Setting the device costs nothing here and creates no context, so "maybe" is always.
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override { return exchangeDevice(device); }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override { return new_generator(device); }

  at::Device getDeviceFromPtr(void* address) const override {
    int device = 0;
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@PointerGetDevice(address, &device));
    return at::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device));
  }
  bool isPinnedPtr(const void* address) const override { return @{ cookiecutter.device }@IsHostPinned(address) != 0; }
  at::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    const c10::DeviceIndex device = storage.device().index();
    const c10::DeviceIndex previous = exchangeDevice(device); // the allocator takes the current device
    c10::DataPtr grown = device_allocator()->allocate(bytes);
    setCurrentDevice(previous);
    const size_t kept = std::min(bytes, storage.nbytes());
    if (kept > 0) {
      @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@MemcpyAsync(grown.get(), storage.data(), kept, @{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_DEVICE,
                               current_driver_stream(device)));
      record_stream(storage.mutable_data(), current_stream(device)); // the old block waits for the copy
    }
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(grown));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
};

const bool hooks_registered = [] {
  at::RegisterPrivateUse1HooksInterface(new @{ cookiecutter.class_name }@Hooks());
  return true;
}();

} // namespace
} // namespace @{ cookiecutter.package }@
