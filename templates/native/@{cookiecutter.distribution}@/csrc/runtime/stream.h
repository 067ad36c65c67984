// Streams: the pool behind torch.Stream, and the current stream of each thread and device.
#pragma once

#include <c10/core/Stream.h>

#include "@{ cookiecutter.device }@_driver.h"

namespace @{ cookiecutter.package }@ {

c10::Stream default_stream(c10::DeviceIndex device);
c10::Stream current_stream(c10::DeviceIndex device);
// Returns the stream that was current on that stream's device.
c10::Stream exchange_stream(c10::Stream stream);
// One of a fixed number of streams per device, in turn.
c10::Stream stream_from_pool(c10::DeviceIndex device);

// What comes next on `waiting` runs after what has been enqueued on `other` so far. The host doesn't wait.
void wait_for(c10::Stream waiting, c10::Stream other);

@{ cookiecutter.device }@Stream_t driver_stream(c10::Stream stream);
inline @{ cookiecutter.device }@Stream_t current_driver_stream(c10::DeviceIndex device) { return driver_stream(current_stream(device)); }

} // namespace @{ cookiecutter.package }@
