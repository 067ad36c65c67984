// The operators that every backend must have: memory, views and storage. They touch no element, so there is no kernel.
// The two copies (_copy_from, _copy_from_and_resize) and _local_scalar_dense are in copy.cpp.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "runtime/allocator.h"
#include "runtime/device.h"

namespace @{ cookiecutter.package }@ {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

void check_options(std::optional<c10::Layout> layout, std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  TORCH_CHECK(c10::layout_or_default(layout) == c10::kStrided, "@{ cookiecutter.device }@ holds strided tensors only, not ", *layout);
  TORCH_CHECK(c10::device_or_default(device).is_privateuseone(), "expected a @{ cookiecutter.device }@ device, got ", *device);
  TORCH_CHECK(!c10::pinned_memory_or_default(pin_memory), "Only dense CPU tensors can be pinned");
}

at::Tensor deterministic(at::Tensor fresh) {
  if (at::globalContext().deterministicAlgorithms() && at::globalContext().deterministicFillUninitializedMemory()) {
    at::native::fill_empty_deterministic_(fresh);
  }
  return fresh;
}

at::Tensor empty_memory_format(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
                               std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                               std::optional<bool> pin_memory, std::optional<c10::MemoryFormat> memory_format) {
  check_options(layout, device, pin_memory);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return deterministic(at::detail::empty_generic(size, device_allocator(), kKeys, c10::dtype_or_default(dtype),
                                                 memory_format));
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<c10::ScalarType> dtype,
                         std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                         std::optional<bool> pin_memory) {
  check_options(layout, device, pin_memory);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return deterministic(
      at::detail::empty_strided_generic(size, stride, device_allocator(), kKeys, c10::dtype_or_default(dtype)));
}

// Gives `self` a new shape, and its storage the room for it. Storage only grows, as on every other device.
void reshape_in_place(c10::TensorImpl* self, c10::IntArrayRef size, c10::OptionalIntArrayRef stride) {
  if (self->sizes() == size && (!stride || self->strides() == *stride)) {
    return;
  }
  const size_t item = self->itemsize();
  const auto offset = static_cast<size_t>(self->storage_offset());
  size_t bytes = 0;
  if (stride) {
    self->set_sizes_and_strides(size, *stride);
    bytes = at::detail::computeStorageNbytes(size, *stride, item, offset);
  } else {
    self->set_sizes_contiguous(size);
    bytes = at::detail::computeStorageNbytesContiguous(size, item, offset);
  }
  if (self->numel() > 0 && bytes > self->unsafe_storage().nbytes()) {
    at::native::resize_bytes_nocuda(self->unsafe_storage(), c10::SymInt(static_cast<int64_t>(bytes)));
  }
}

const at::Tensor& resize_(const at::Tensor& self, c10::IntArrayRef size,
                          std::optional<c10::MemoryFormat> memory_format) {
  const auto old_bytes = static_cast<int64_t>(self.storage().nbytes());
  reshape_in_place(self.unsafeGetTensorImpl(), size, std::nullopt);
  if (memory_format.has_value()) {
    TORCH_CHECK(*memory_format != c10::MemoryFormat::Preserve, "Unsupported memory format ", *memory_format);
    self.unsafeGetTensorImpl()->empty_tensor_restride(*memory_format);
  }
  if (at::globalContext().deterministicAlgorithms() && at::globalContext().deterministicFillUninitializedMemory()) {
    at::native::fill_resize_deterministic_(self, old_bytes);
  }
  return self;
}

at::Tensor& set_storage_offset(at::Tensor& self, at::Storage source, int64_t offset, c10::IntArrayRef size,
                               c10::IntArrayRef stride) {
  at::native::checkSetStorage(self, std::move(source), offset, size, stride);
  self.unsafeGetTensorImpl()->set_storage_offset(offset);
  const bool strided = stride.data() != nullptr;
  reshape_in_place(self.unsafeGetTensorImpl(), size, strided ? c10::OptionalIntArrayRef(stride) : std::nullopt);
  return self;
}

at::Tensor& set_empty(at::Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  return self.set_(c10::Storage(c10::Storage::use_byte_size_t(), 0, device_allocator(), /*resizable=*/true), 0, {0}, {});
}

void record_tensor_stream(at::Tensor& self, c10::Stream stream) { record_stream(self.storage().mutable_data(), stream); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("record_stream", TORCH_FN(record_tensor_stream));
  m.impl("empty.memory_format", TORCH_FN(empty_memory_format));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("resize_", TORCH_FN(resize_));
  m.impl("set_", TORCH_FN(set_empty));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_offset));
  // What follows only rearranges sizes, strides and offsets: PyTorch's own functions do that for any device.
  m.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  m.impl("set_.source_Storage", TORCH_FN(at::native::set_));
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("unfold", TORCH_FN(at::native::unfold));
  m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
}

} // namespace
} // namespace @{ cookiecutter.package }@
