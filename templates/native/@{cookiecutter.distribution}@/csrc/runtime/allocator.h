// Device memory.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

namespace @{ cookiecutter.package }@ {

c10::DeviceAllocator* device_allocator();
// The block must not be reused before the stream has passed this point; takes a block's first address.
void record_stream(void* address, c10::Stream stream);

} // namespace @{ cookiecutter.package }@
