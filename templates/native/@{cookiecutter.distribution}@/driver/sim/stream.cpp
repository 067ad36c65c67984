// Simulated driver: streams, events and launches. A stream is a thread, so work really is asynchronous and two streams
// really overlap: a missing synchronization shows here, not on the first chip.
#include "sim.h"

#include <cstring>
#include <thread>
#include <utility>

namespace sim {

void Mark::pass() {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    time = Clock::now();
    passed = true;
  }
  passed_changed.notify_all();
}

void Mark::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  passed_changed.wait(lock, [this] { return passed; });
}

bool Mark::is_passed() {
  const std::lock_guard<std::mutex> lock(mutex);
  return passed;
}

} // namespace sim

void @{ cookiecutter.device }@Stream_s::enqueue(std::function<@{ cookiecutter.device }@Status()> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!started_) {
      started_ = true;
      std::thread(&@{ cookiecutter.device }@Stream_s::work, this).detach(); // streams live as long as the process
    }
  }
  work_.notify_one();
}

void @{ cookiecutter.device }@Stream_s::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return !tasks_.empty() && !busy_; });
    run_next(lock);
  }
}

void @{ cookiecutter.device }@Stream_s::run_next(std::unique_lock<std::mutex>& lock) {
  std::function<@{ cookiecutter.device }@Status()> task = std::move(tasks_.front());
  tasks_.pop_front();
  busy_ = true;
  lock.unlock();
  const @{ cookiecutter.device }@Status status = task();
  task = nullptr; // release what it holds before anyone is told that it is done
  lock.lock();
  busy_ = false;
  if (status != @{ cookiecutter.DEVICE }@_SUCCESS && error_ == @{ cookiecutter.DEVICE }@_SUCCESS) {
    error_ = status;
  }
  done_.notify_all();
}

// Whoever waits lends a hand: to wake the stream's thread takes longer than most tasks.
@{ cookiecutter.device }@Status @{ cookiecutter.device }@Stream_s::synchronize() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (busy_ || !tasks_.empty()) {
    if (busy_) {
      done_.wait(lock);
    } else {
      run_next(lock);
    }
  }
  return std::exchange(error_, @{ cookiecutter.DEVICE }@_SUCCESS);
}

bool @{ cookiecutter.device }@Stream_s::is_idle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tasks_.empty() && !busy_;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@StreamCreate(int device, @{ cookiecutter.device }@Stream_t* stream) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  if (!sim::is_device(device)) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE;
  }
  *stream = new @{ cookiecutter.device }@Stream_s(device);
  sim::Device& state = sim::driver().devices[device];
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.streams.push_back(*stream);
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@StreamSynchronize(@{ cookiecutter.device }@Stream_t stream) {
  return sim::is_forked() ? @{ cookiecutter.DEVICE }@_ERROR_FORKED : stream->synchronize();
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@StreamQuery(@{ cookiecutter.device }@Stream_t stream) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  return stream->is_idle() ? @{ cookiecutter.DEVICE }@_SUCCESS : @{ cookiecutter.DEVICE }@_ERROR_NOT_READY;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@EventCreate(int device, @{ cookiecutter.device }@Event_t* event) {
  if (!sim::is_device(device)) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE;
  }
  *event = new @{ cookiecutter.device }@Event_s();
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@EventDestroy(@{ cookiecutter.device }@Event_t event) {
  delete event; // a mark that is still waited for is kept by whoever waits
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@EventRecord(@{ cookiecutter.device }@Event_t event, @{ cookiecutter.device }@Stream_t stream) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  auto mark = std::make_shared<sim::Mark>();
  {
    const std::lock_guard<std::mutex> lock(event->mutex);
    event->mark = mark;
  }
  stream->enqueue([mark] {
    mark->pass();
    return @{ cookiecutter.DEVICE }@_SUCCESS;
  });
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@EventQuery(@{ cookiecutter.device }@Event_t event) {
  const auto mark = event->latest();
  return !mark || mark->is_passed() ? @{ cookiecutter.DEVICE }@_SUCCESS : @{ cookiecutter.DEVICE }@_ERROR_NOT_READY;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@EventSynchronize(@{ cookiecutter.device }@Event_t event) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  if (const auto mark = event->latest()) {
    mark->wait();
  }
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@StreamWaitEvent(@{ cookiecutter.device }@Stream_t stream, @{ cookiecutter.device }@Event_t event) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  if (auto mark = event->latest()) {
    stream->enqueue([mark] {
      mark->wait();
      return @{ cookiecutter.DEVICE }@_SUCCESS;
    });
  }
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@EventElapsedTime(@{ cookiecutter.device }@Event_t start, @{ cookiecutter.device }@Event_t end, double* milliseconds) {
  const auto first = start->latest();
  const auto last = end->latest();
  if (!first || !last) {
    return @{ cookiecutter.DEVICE }@_ERROR_INVALID_VALUE;
  }
  if (!first->is_passed() || !last->is_passed()) {
    return @{ cookiecutter.DEVICE }@_ERROR_NOT_READY;
  }
  *milliseconds = std::chrono::duration<double, std::milli>(last->time - first->time).count();
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}

@{ cookiecutter.device }@Status @{ cookiecutter.device }@LaunchKernel(@{ cookiecutter.device }@Kernel_t kernel, void* const* buffers, int buffer_count, const void* params,
                          size_t params_bytes, @{ cookiecutter.device }@Stream_t stream) {
  if (sim::is_forked()) {
    return @{ cookiecutter.DEVICE }@_ERROR_FORKED;
  }
  for (int i = 0; i < buffer_count; ++i) {
    if (sim::owner(buffers[i]) != stream->device) {
      return @{ cookiecutter.DEVICE }@_ERROR_INVALID_ADDRESS;
    }
  }
  std::vector<void*> held_buffers(buffers, buffers + buffer_count);
  // 16-byte units, so that the copy is aligned for whatever the argument block holds.
  struct alignas(16) Unit {
    unsigned char bytes[16];
  };
  std::vector<Unit> held_params((params_bytes + sizeof(Unit) - 1) / sizeof(Unit));
  std::memcpy(held_params.data(), params, params_bytes);
  ++sim::driver().counters.launches;
  stream->enqueue([kernel, held_buffers = std::move(held_buffers), held_params = std::move(held_params)] {
    return kernel(held_buffers.data(), held_params.data()) == 0 ? @{ cookiecutter.DEVICE }@_SUCCESS : @{ cookiecutter.DEVICE }@_ERROR_KERNEL;
  });
  return @{ cookiecutter.DEVICE }@_SUCCESS;
}
