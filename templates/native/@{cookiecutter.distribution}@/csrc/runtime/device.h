// The driver as the rest of the backend sees it: started once, errors turned into exceptions, a current device per thread.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include "@{ cookiecutter.device }@_driver.h"

namespace @{ cookiecutter.package }@ {

constexpr auto kDeviceType = c10::DeviceType::PrivateUse1;

// Throws if a driver call failed, with the call's own name in the message.
#define @{ cookiecutter.DEVICE }@_CHECK(call)                                                                                      \
  do {                                                                                                       \
    const @{ cookiecutter.device }@Status @{ cookiecutter.device }@_check_status = (call);                                                               \
    TORCH_CHECK(@{ cookiecutter.device }@_check_status == @{ cookiecutter.DEVICE }@_SUCCESS, "@{ cookiecutter.device }@ driver: ", #call, ": ", @{ cookiecutter.device }@StatusString(@{ cookiecutter.device }@_check_status)); \
  } while (false)

// Starts the driver and the streams of every device; the first use of the device does this.
void ensure_initialized();
bool is_initialized();

c10::DeviceIndex device_count() noexcept;
c10::DeviceIndex current_device();
void set_device(c10::DeviceIndex index);
// Throws if there is no such device; -1 means the current one.
c10::DeviceIndex resolve_device(c10::DeviceIndex index);

} // namespace @{ cookiecutter.package }@
