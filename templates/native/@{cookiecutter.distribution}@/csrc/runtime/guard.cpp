// Device guard: how PyTorch switches devices and streams and how torch.Event works on this device.
// Interface: c10::impl::DeviceGuardImplInterface.
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/stream.h"

namespace @{ cookiecutter.package }@ {
namespace {

@{ cookiecutter.device }@Event_t as_event(void* event) { return static_cast<@{ cookiecutter.device }@Event_t>(event); }

bool is_done(@{ cookiecutter.device }@Status status) {
  if (status == @{ cookiecutter.DEVICE }@_ERROR_NOT_READY) {
    return false;
  }
  @{ cookiecutter.DEVICE }@_CHECK(status);
  return true;
}

struct @{ cookiecutter.class_name }@Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDeviceType; }

  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device previous = getDevice();
    set_device(device.index());
    return previous;
  }
  c10::Device getDevice() const override { return c10::Device(kDeviceType, current_device()); }
  void setDevice(c10::Device device) const override { set_device(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < @{ cookiecutter.package }@::device_count()) {
      set_device(device.index());
    }
  }
  c10::DeviceIndex deviceCount() const noexcept override { return @{ cookiecutter.package }@::device_count(); }

  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    return c10::DeviceCapability(); // every dtype: memory and conversion copies take them all
  }

  c10::Stream getStream(c10::Device device) const override { return current_stream(device.index()); }
  c10::Stream getDefaultStream(c10::Device device) const override { return default_stream(device.index()); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return stream_from_pool(device.index());
  }
  c10::Stream getNewStream(c10::Device device, int) const override { return stream_from_pool(device.index()); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return exchange_stream(stream); }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return driver_stream(stream); }
  bool queryStream(const c10::Stream& stream) const override { return is_done(@{ cookiecutter.device }@StreamQuery(driver_stream(stream))); }
  void synchronizeStream(const c10::Stream& stream) const override {
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@StreamSynchronize(driver_stream(stream)));
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    ensure_initialized();
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@DeviceSynchronize(resolve_device(device)));
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    record_stream(data.get(), stream);
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex device,
              const c10::EventFlag) const override {
    TORCH_CHECK(device == -1 || device == stream.device_index(), "Event device index ", static_cast<int>(device),
                " does not match recording stream's device index ", static_cast<int>(stream.device_index()), ".");
    if (*event == nullptr) {
      @{ cookiecutter.device }@Event_t created = nullptr;
      @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@EventCreate(stream.device_index(), &created));
      *event = created;
    }
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@EventRecord(as_event(*event), driver_stream(stream)));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) {
      @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@StreamWaitEvent(driver_stream(stream), as_event(event)));
    }
  }
  bool queryEvent(void* event) const override { return event == nullptr || is_done(@{ cookiecutter.device }@EventQuery(as_event(event))); }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) {
      @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@EventSynchronize(as_event(event)));
    }
  }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    TORCH_CHECK(start != nullptr && end != nullptr, "Both events must be recorded before calculating elapsed time.");
    double milliseconds = 0;
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@EventElapsedTime(as_event(start), as_event(end), &milliseconds));
    return milliseconds;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    if (event != nullptr) {
      @{ cookiecutter.device }@EventDestroy(as_event(event));
    }
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, @{ cookiecutter.class_name }@Guard);

} // namespace
} // namespace @{ cookiecutter.package }@
