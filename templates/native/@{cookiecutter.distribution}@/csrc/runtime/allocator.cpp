// Device memory: every tensor's block comes from the driver, and torch.accelerator.memory_* reads what is counted here.
// Interface: c10::DeviceAllocator. There is no cache: a block goes back to the driver in stream order.
#include "runtime/allocator.h"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/device.h"
#include "runtime/stream.h"

namespace @{ cookiecutter.package }@ {
namespace {

using c10::CachingDeviceAllocator::DeviceStats;

constexpr size_t kAggregate = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

struct Block {
  size_t bytes;
  c10::Stream home;
  std::vector<c10::Stream> other_streams;
};

class @{ cookiecutter.class_name }@Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    ensure_initialized();
    const c10::DeviceIndex device = current_device();
    void* address = nullptr;
    if (bytes > 0) {
      const c10::Stream home = current_stream(device);
      address = allocate_from_driver(device, bytes);
      const std::lock_guard<std::mutex> lock(mutex_);
      blocks_.emplace(address, Block{bytes, home, {}});
      count(device, [bytes](DeviceStats& stats) {
        stats.num_device_alloc += 1;
        stats.allocation[kAggregate].increase(1);
        stats.segment[kAggregate].increase(1);
        stats.active[kAggregate].increase(1);
        for (auto* sum : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes, &stats.requested_bytes}) {
          (*sum)[kAggregate].increase(bytes);
        }
      });
    }
    return {address, address, &free, c10::Device(c10::DeviceType::PrivateUse1, device)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free; }

  void copy_data(void* dst, const void* src, size_t bytes) const override {
    int device = 0;
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@PointerGetDevice(dst, &device));
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@MemcpyAsync(dst, src, bytes, @{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_DEVICE,
                             current_driver_stream(static_cast<c10::DeviceIndex>(device))));
  }

  bool initialized() override { return is_initialized(); }

  void emptyCache(c10::MempoolId_t) override {} // nothing is kept

  void recordStream(const c10::DataPtr& data, c10::Stream stream) override { record(data.get(), stream); }

  void record(void* address, c10::Stream stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(address);
    if (found != blocks_.end() && found->second.home != stream) {
      found->second.other_streams.push_back(stream);
    }
  }

  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_of(device);
  }

  void resetAccumulatedStats(c10::DeviceIndex device) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    DeviceStats& stats = stats_of(device);
    for (auto* array : arrays(stats)) {
      (*array)[kAggregate].reset_accumulated();
    }
    stats.num_ooms = 0;
    stats.num_device_alloc = 0;
    stats.num_device_free = 0;
  }

  void resetPeakStats(c10::DeviceIndex device) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto* array : arrays(stats_of(device))) {
      (*array)[kAggregate].reset_peak();
    }
  }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@MemGetInfo(resolve_device(device), &free_bytes, &total_bytes));
    return {free_bytes, total_bytes};
  }

 private:
  static std::vector<c10::CachingAllocator::StatArray*> arrays(DeviceStats& stats) {
    return {&stats.allocation,     &stats.segment,        &stats.active,        &stats.allocated_bytes,
            &stats.reserved_bytes, &stats.active_bytes,   &stats.requested_bytes};
  }

  DeviceStats& stats_of(c10::DeviceIndex device) {
    stats_.resize(device_count());
    return stats_[resolve_device(device)];
  }

  template <typename Change>
  void count(c10::DeviceIndex device, Change change) {
    change(stats_of(device));
  }

  void* allocate_from_driver(c10::DeviceIndex device, size_t bytes) {
    void* address = nullptr;
    @{ cookiecutter.device }@Status status = @{ cookiecutter.device }@Malloc(device, bytes, &address);
    if (status == @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY) {
      @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@DeviceSynchronize(device)); // blocks that were freed but not yet passed by their stream
      status = @{ cookiecutter.device }@Malloc(device, bytes, &address);
    }
    if (status == @{ cookiecutter.DEVICE }@_ERROR_OUT_OF_MEMORY) {
      const auto [free_bytes, total_bytes] = getMemoryInfo(device);
      const std::lock_guard<std::mutex> lock(mutex_);
      stats_of(device).num_ooms += 1;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "@{ cookiecutter.device }@ out of memory. Tried to allocate ", bytes, " bytes. Device ",
                       static_cast<int>(device), " has a total capacity of ", total_bytes, " bytes of which ",
                       free_bytes, " are free.");
    }
    @{ cookiecutter.DEVICE }@_CHECK(status);
    return address;
  }

  // A deleter must not throw, and has nothing to free in a forked child: the memory is the parent's.
  static void free(void* address);

  void release(void* address) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto node = blocks_.extract(address);
    if (node.empty()) {
      return;
    }
    const Block& block = node.mapped();
    count(block.home.device_index(), [&block](DeviceStats& stats) {
      stats.num_device_free += 1;
      stats.allocation[kAggregate].decrease(1);
      stats.segment[kAggregate].decrease(1);
      stats.active[kAggregate].decrease(1);
      for (auto* sum : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes, &stats.requested_bytes}) {
        (*sum)[kAggregate].decrease(block.bytes);
      }
    });
    lock.unlock();
    for (const c10::Stream other : block.other_streams) {
      wait_for(block.home, other);
    }
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@FreeAsync(address, driver_stream(block.home)));
  }

  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  std::vector<DeviceStats> stats_;
};

// Never destroyed: tensors in static storage may outlive everything else.
@{ cookiecutter.class_name }@Allocator& allocator() {
  static @{ cookiecutter.class_name }@Allocator& instance = *new @{ cookiecutter.class_name }@Allocator();
  return instance;
}

void @{ cookiecutter.class_name }@Allocator::free(void* address) {
  if (address == nullptr || @{ cookiecutter.device }@IsForked()) {
    return;
  }
  try {
    allocator().release(address);
  } catch (const std::exception& error) {
    TORCH_WARN("@{ cookiecutter.device }@: freeing device memory failed: ", error.what());
  }
}

const bool allocator_registered = [] {
  c10::SetAllocator(c10::DeviceType::PrivateUse1, &allocator());
  return true;
}();

} // namespace

c10::DeviceAllocator* device_allocator() { return &allocator(); }

void record_stream(void* address, c10::Stream stream) { allocator().record(address, stream); }

} // namespace @{ cookiecutter.package }@
