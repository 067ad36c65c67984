// A c10::Stream carries only a number, so each device keeps its driver streams in a table: 0 is the default stream.
#include "runtime/stream.h"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "runtime/device.h"

namespace @{ cookiecutter.package }@ {
namespace {

constexpr c10::StreamId kStreamsPerDevice = 33; // the default stream and 32 in the pool

struct DeviceStreams {
  std::array<@{ cookiecutter.device }@Stream_t, kStreamsPerDevice> streams{};
  std::atomic<uint32_t> next{0};
};

// Built on first use and never destroyed: tensors that outlive the interpreter still free their memory on a stream.
std::vector<std::unique_ptr<DeviceStreams>>& tables() {
  static auto& instance = *[] {
    ensure_initialized();
    auto* all = new std::vector<std::unique_ptr<DeviceStreams>>();
    for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
      auto table = std::make_unique<DeviceStreams>();
      for (@{ cookiecutter.device }@Stream_t& stream : table->streams) {
        @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@StreamCreate(device, &stream));
      }
      all->push_back(std::move(table));
    }
    return all;
  }();
  return instance;
}

c10::Stream make_stream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::PrivateUse1, device), id);
}

// Zero, the default stream, for a device that the thread has not touched.
thread_local std::vector<c10::StreamId> current_ids;

} // namespace

c10::Stream default_stream(c10::DeviceIndex device) { return make_stream(resolve_device(device), 0); }

c10::Stream current_stream(c10::DeviceIndex device) {
  device = resolve_device(device);
  const bool touched = static_cast<size_t>(device) < current_ids.size();
  return make_stream(device, touched ? current_ids[device] : 0);
}

c10::Stream exchange_stream(c10::Stream stream) {
  const c10::Stream previous = current_stream(stream.device_index());
  current_ids.resize(device_count(), 0);
  current_ids[stream.device_index()] = stream.id();
  return previous;
}

c10::Stream stream_from_pool(c10::DeviceIndex device) {
  device = resolve_device(device);
  const uint32_t turn = tables()[device]->next++;
  return make_stream(device, 1 + turn % (kStreamsPerDevice - 1));
}

@{ cookiecutter.device }@Stream_t driver_stream(c10::Stream stream) {
  TORCH_CHECK(stream.id() >= 0 && stream.id() < kStreamsPerDevice, "not a @{ cookiecutter.device }@ stream: ", stream);
  return tables().at(stream.device_index())->streams[stream.id()];
}

void wait_for(c10::Stream waiting, c10::Stream other) {
  @{ cookiecutter.device }@Event_t event = nullptr;
  @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@EventCreate(other.device_index(), &event));
  @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@EventRecord(event, driver_stream(other)));
  @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@StreamWaitEvent(driver_stream(waiting), event));
  @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@EventDestroy(event));
}

} // namespace @{ cookiecutter.package }@
