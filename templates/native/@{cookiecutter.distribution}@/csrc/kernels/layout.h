// What a kernel needs to know of its operands, as plain data that fits into an argument block. The host fills it from
// PyTorch's TensorIterator, device code walks through it.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "runtime/device.h"
#include "runtime/stream.h"

namespace @{ cookiecutter.package }@ {

// As many dimensions as an argument block has room for, after PyTorch has merged those that it can.
constexpr int kMaxDims = 25;

// One operand: a device address (index into the launch's buffers) or, for a number from the host, the number itself.
struct Operand {
  int buffer; // -1: the value is in `immediate`
  c10::ScalarType dtype;
  std::array<int64_t, kMaxDims> strides; // in bytes, dimension 0 is the innermost
  alignas(16) std::array<char, 16> immediate;
};

template <int operands>
struct Layout {
  int dims;
  c10::ScalarType common_dtype; // what the operator computes in, by PyTorch's promotion rules
  std::array<int64_t, kMaxDims> sizes;
  std::array<Operand, operands> operand; // the output first

  int64_t rows() const {
    int64_t count = 1;
    for (int dim = 1; dim < dims; ++dim) {
      count *= sizes[dim];
    }
    return count;
  }
  int64_t row_length() const { return dims == 0 ? 1 : sizes[0]; }
};

// Device code: where a row of each operand starts.
template <int operands>
std::array<char*, operands> row_pointers(const Layout<operands>& layout, void* const* buffers, int64_t row) {
  std::array<char*, operands> pointers;
  for (int i = 0; i < operands; ++i) {
    const Operand& operand = layout.operand[i];
    pointers[i] = operand.buffer >= 0 ? static_cast<char*>(buffers[operand.buffer])
                                      : const_cast<char*>(operand.immediate.data());
  }
  for (int dim = 1; dim < layout.dims; ++dim) {
    const int64_t position = row % layout.sizes[dim];
    row /= layout.sizes[dim];
    for (int i = 0; i < operands; ++i) {
      pointers[i] += position * layout.operand[i].strides[dim];
    }
  }
  return pointers;
}

// Host code: fills the layout from an iterator that PyTorch has built: broadcast, reordered and merged.
// `buffers` receives the device addresses.
template <int operands>
Layout<operands> make_layout(const at::TensorIteratorBase& iterator, std::array<void*, operands>& buffers) {
  TORCH_CHECK(iterator.ndim() <= kMaxDims, "@{ cookiecutter.device }@ kernels take at most ", kMaxDims, " dimensions, got ", iterator.ndim());
  TORCH_INTERNAL_ASSERT(iterator.ntensors() == operands);
  Layout<operands> layout{};
  layout.dims = iterator.ndim();
  layout.common_dtype = iterator.maybe_common_dtype().value_or(iterator.dtype(0));
  std::copy(iterator.shape().begin(), iterator.shape().end(), layout.sizes.begin());
  for (int i = 0; i < operands; ++i) {
    Operand& operand = layout.operand[i];
    operand.dtype = iterator.dtype(i);
    if (iterator.is_cpu_scalar(i)) {
      operand.buffer = -1;
      std::memcpy(operand.immediate.data(), iterator.data_ptr(i), iterator.element_size(i));
      buffers[i] = buffers[0]; // never read
    } else {
      operand.buffer = i;
      buffers[i] = iterator.data_ptr(i);
      std::copy(iterator.strides(i).begin(), iterator.strides(i).end(), operand.strides.begin());
    }
  }
  return layout;
}

// Host code: enqueues a kernel on the current stream of the device. `params` must be plain data: its bytes are copied.
template <typename Params, size_t buffers>
void launch(c10::Device device, @{ cookiecutter.device }@Kernel_t kernel, const std::array<void*, buffers>& addresses, const Params& params) {
  static_assert(std::is_trivially_copyable_v<Params>);
  @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@LaunchKernel(kernel, addresses.data(), static_cast<int>(buffers), &params, sizeof params,
                            current_driver_stream(device.index())));
}

} // namespace @{ cookiecutter.package }@
