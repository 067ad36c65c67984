// The simulated driver's own state, shared by its three source files. Nothing outside driver/sim includes this.
#pragma once

#include "@{ cookiecutter.device }@_driver.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace sim {

constexpr int kDeviceCount = 2;
constexpr size_t kDeviceMemory = size_t{8} << 30;

using Clock = std::chrono::steady_clock;

// One point of a stream that has been, or will be, passed.
struct Mark {
  std::mutex mutex;
  std::condition_variable passed_changed;
  bool passed = false;
  Clock::time_point time;

  void pass();
  void wait();
  bool is_passed();
};

struct Block {
  size_t bytes;
  int device;
};

struct Device {
  std::mutex mutex;
  std::vector<@{ cookiecutter.device }@Stream_t> streams;
};

struct Counters {
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> copies[3] = {0, 0, 0};
  std::atomic<uint64_t> bytes[3] = {0, 0, 0};
};

struct Driver {
  Device devices[kDeviceCount];
  std::mutex memory_mutex;
  std::map<uintptr_t, Block> blocks;
  std::map<uintptr_t, size_t> pinned;
  size_t used[kDeviceCount] = {0, 0};
  Counters counters;
};

// Never destroyed: streams may still be running when the process ends.
Driver& driver();
bool is_forked();
bool is_device(int device);
// The device that owns `address`, or -1.
int owner(const void* address);

} // namespace sim

// A queue with one worker thread, started by the first task. Tasks return 0 or an error that the next wait reports.
struct @{ cookiecutter.device }@Stream_s {
  explicit @{ cookiecutter.device }@Stream_s(int device_index) : device(device_index) {}

  void enqueue(std::function<@{ cookiecutter.device }@Status()> task);
  @{ cookiecutter.device }@Status synchronize();
  bool is_idle();

  const int device;

 private:
  void work();
  void run_next(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable work_; // for the thread: a task was added
  std::condition_variable done_; // for whoever waits: a task has ended
  std::deque<std::function<@{ cookiecutter.device }@Status()>> tasks_;
  bool started_ = false;
  bool busy_ = false;
  @{ cookiecutter.device }@Status error_ = @{ cookiecutter.DEVICE }@_SUCCESS;
};

struct @{ cookiecutter.device }@Event_s {
  std::mutex mutex;
  std::shared_ptr<sim::Mark> mark; // of the latest record; null before the first

  std::shared_ptr<sim::Mark> latest() {
    const std::lock_guard<std::mutex> lock(mutex);
    return mark;
  }
};
