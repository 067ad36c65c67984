// Simulated driver: device memory, pinned host memory and copies.
#include "sim.h"

#include <cstdlib>
#include <cstring>

namespace sim {
namespace {

constexpr size_t kAlignment = 64;
// What a fresh block holds: NaN in every floating-point format, so that reading memory nobody wrote doesn't pass for zero.
constexpr int kFreshByte = 0xFF;

// std::aligned_alloc wants a multiple of the alignment; a block of no bytes still gets an address of its own.
size_t padded(size_t bytes) { return (bytes / kAlignment + 1) * kAlignment; }

bool contains(const std::map<uintptr_t, size_t>& ranges, uintptr_t address) {
  auto after = ranges.upper_bound(address);
  return after != ranges.begin() && address < std::prev(after)->first + std::prev(after)->second;
}

void release(void* address) {
  Driver& state = driver();
  {
    const std::lock_guard<std::mutex> lock(state.memory_mutex);
    const auto found = state.blocks.find(reinterpret_cast<uintptr_t>(address));
    state.used[found->second.device] -= found->second.bytes;
    state.blocks.erase(found);
  }
  std::free(address);
}

} // namespace

int owner(const void* address) {
  Driver& state = driver();
  const std::lock_guard<std::mutex> lock(state.memory_mutex);
  const auto value = reinterpret_cast<uintptr_t>(address);
  auto after = state.blocks.upper_bound(value);
  if (after == state.blocks.begin()) {
    return -1;
  }
  const auto& [start, block] = *std::prev(after);
  return value < start + block.bytes ? block.device : -1;
}

} // namespace sim

@{ cookiecutter.device }@Status @{ cookiecutter.device }@Malloc(int device, size_t bytes, void** address) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  if (!sim::is_device(device)) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE;
  }
  sim::Driver& state = sim::driver();
  if (bytes > sim::kDeviceMemory) {
    return @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY;
  }
  const size_t size = sim::padded(bytes);
  {
    const std::lock_guard<std::mutex> lock(state.memory_mutex);
    if (size > sim::kDeviceMemory - state.used[device]) {
      return @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY;
    }
    state.used[device] += size;
  }
  void* block = std::aligned_alloc(sim::kAlignment, size);
  const std::lock_guard<std::mutex> lock(state.memory_mutex);
  if (block == nullptr) {
    state.used[device] -= size;
    return @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY;
  }
  std::memset(block, sim::kFreshByte, size);
  state.blocks.emplace(reinterpret_cast<uintptr_t>(block), sim::Block{size, device});
  *address = block;
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@FreeAsync(void* address, @{ cookiecutter.device }@Stream_t stream) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  if (sim::owner(address) != stream->device) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_ADDRESS;
  }
  stream->enqueue([address] {
    sim::release(address);
    return @{ cookiecutter.DEVICE }@_SUCCESS;
  });
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@MemGetInfo(int device, size_t* free_bytes, size_t* total_bytes) {
  if (!sim::is_device(device)) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE;
  }
  sim::Driver& state = sim::driver();
  const std::lock_guard<std::mutex> lock(state.memory_mutex);
  *total_bytes = sim::kDeviceMemory;
  *free_bytes = sim::kDeviceMemory - state.used[device];
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@PointerGetDevice(const void* address, int* device) {
  *device = sim::owner(address);
  return *device < 0 ? @{ cookiecutter.DEVICE }@_ERROR_INVALID_ADDRESS : @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@MallocHost(size_t bytes, void** address) {
  void* block = std::aligned_alloc(sim::kAlignment, sim::padded(bytes));
  if (block == nullptr) {
    return @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY;
  }
  sim::Driver& state = sim::driver();
  const std::lock_guard<std::mutex> lock(state.memory_mutex);
  state.pinned.emplace(reinterpret_cast<uintptr_t>(block), sim::padded(bytes));
  *address = block;
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@FreeHost(void* address) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  @{ cookiecutter.device }@Status status = @{ cookiecutter.DEVICE }@_SUCCESS;
  for (int device = 0; device < sim::kDeviceCount; ++device) {
    const @{ cookiecutter.device }@Status waited = @{ cookiecutter.device }@DeviceSynchronize(device);
    status = status == @{ cookiecutter.DEVICE }@_SUCCESS ? waited : status;
  }
  sim::Driver& state = sim::driver();
  {
    const std::lock_guard<std::mutex> lock(state.memory_mutex);
    if (state.pinned.erase(reinterpret_cast<uintptr_t>(address)) == 0) {
      return @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE;
    }
  }
  std::free(address);
  return status;
}

int @{ cookiecutter.device }@IsHostPinned(const void* address) {
  if (sim::is_forked()) {
    return 0;
  }
  sim::Driver& state = sim::driver();
  const std::lock_guard<std::mutex> lock(state.memory_mutex);
  return sim::contains(state.pinned, reinterpret_cast<uintptr_t>(address)) ? 1 : 0;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@MemcpyAsync(void* dst, const void* src, size_t bytes, @{ cookiecutter.device }@MemcpyKind kind, @{ cookiecutter.device }@Stream_t stream) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  const bool to_device = kind != @{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_HOST;
  const bool from_device = kind != @{ cookiecutter.DEVICE }@_MEMCPY_HOST_TO_DEVICE;
  if ((sim::owner(dst) >= 0) != to_device || (sim::owner(src) >= 0) != from_device) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_ADDRESS;
  }
  sim::Counters& counters = sim::driver().counters;
  ++counters.copies[kind];
  counters.bytes[kind] += bytes;
  stream->enqueue([dst, src, bytes] {
    std::memmove(dst, src, bytes);
    return @{ cookiecutter.DEVICE }@_SUCCESS;
  });
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}
