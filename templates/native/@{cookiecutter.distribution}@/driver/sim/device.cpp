// Simulated driver: start-up, devices, properties, counters.
#include "sim.h"

#include <pthread.h>

#include <cstdio>

namespace sim {
namespace {

std::atomic<bool> started{false};
std::atomic<bool> forked{false};

// The worker threads of the streams don't exist in a child, and a lock may be held for ever by one of them.
void after_fork_in_child() {
  if (started) {
    forked = true;
  }
}

} // namespace

Driver& driver() {
  static Driver& instance = *new Driver();
  return instance;
}

bool is_forked() { return forked; }

bool is_device(int device) { return device >= 0 && device < kDeviceCount; }

} // namespace sim

@{ cookiecutter.device }@Status @{ cookiecutter.device }@Init(void) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  static const int registered = pthread_atfork(nullptr, nullptr, sim::after_fork_in_child);
  sim::started = true;
  return registered == 0 ? @{ cookiecutter.DEVICE }@_SUCCESS : @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY;
}

int @{ cookiecutter.device }@IsForked(void) { return sim::is_forked() ? 1 : 0; }

@{ cookiecutter.device }@Status @{ cookiecutter.device }@GetDeviceCount(int* count) {
  *count = sim::kDeviceCount;
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@GetDeviceProperties(int device, @{ cookiecutter.device }@DeviceProperties* properties) {
  if (!sim::is_device(device)) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE;
  }
  std::snprintf(properties->name, sizeof properties->name, "@{ cookiecutter.class_name }@ (simulated)");
  properties->simulated = 1;
  properties->total_memory = sim::kDeviceMemory;
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@DeviceSynchronize(int device) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  if (!sim::is_device(device)) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE;
  }
  sim::Device& state = sim::driver().devices[device];
  std::vector<@{ cookiecutter.device }@Stream_t> streams;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    streams = state.streams;
  }
  @{ cookiecutter.device }@Status first_error = @{ cookiecutter.DEVICE }@_SUCCESS;
  for (@{ cookiecutter.device }@Stream_t stream : streams) {
    const @{ cookiecutter.device }@Status status = stream->synchronize();
    if (first_error == @{ cookiecutter.DEVICE }@_SUCCESS) {
      first_error = status;
    }
  }
  return first_error;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@GetCounters(@{ cookiecutter.device }@Counters* counters) {
  const sim::Counters& from = sim::driver().counters;
  counters->launches = from.launches;
  counters->host_to_device_copies = from.copies[@{ cookiecutter.DEVICE }@_MEMCPY_HOST_TO_DEVICE];
  counters->device_to_host_copies = from.copies[@{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_HOST];
  counters->device_to_device_copies = from.copies[@{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_DEVICE];
  counters->host_to_device_bytes = from.bytes[@{ cookiecutter.DEVICE }@_MEMCPY_HOST_TO_DEVICE];
  counters->device_to_host_bytes = from.bytes[@{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_HOST];
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

const char* @{ cookiecutter.device }@StatusString(@{ cookiecutter.device }@Status status) {
  switch (status) {
    case @{ cookiecutter.DEVICE }@_SUCCESS:
      return "success";
    case @{ cookiecutter.DEVICE }@_ERROR_NOT_READY:
      return "not ready";
    case @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY:
      return "out of memory";
    case @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE:
      return "invalid value";
    case @{ cookiecutter.DEVICE }@_ERROR_INVALID_ADDRESS:
      return "not a device address";
    case @{ cookiecutter.DEVICE }@_ERROR_FORKED:
      return "the driver was started before fork(); use the start method 'spawn' or 'forkserver'";
    case @{ cookiecutter.DEVICE }@_ERROR_KERNEL:
      return "a kernel failed";
  }
  return "unknown error";
}
