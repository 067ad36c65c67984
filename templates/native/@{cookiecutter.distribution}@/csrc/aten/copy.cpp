// aten::_copy_from and _copy_from_and_resize, behind Tensor.copy_ and Tensor.to, and _local_scalar_dense, behind item().
// Layout and dtype are settled on the device by the copy kernel; what crosses between two memories is one dense block.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "kernels/copy.h"
#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/stream.h"

namespace @{ cookiecutter.package }@ {
namespace {

// The same numbers as stored, without the promise that they stand for their conjugates or negatives.
at::Tensor as_stored(const at::Tensor& tensor) {
  at::Tensor plain = tensor.alias();
  plain._set_conj(false);
  plain._set_neg(false);
  return plain;
}

// What as_stored took off.
at::Tensor with_bits_of(const at::Tensor& plain, const at::Tensor& tensor) {
  plain._set_conj(tensor.is_conj());
  plain._set_neg(tensor.is_neg());
  return plain;
}

// A dense block with the elements in row-major order, on the tensor's own device.
at::Tensor dense(const at::Tensor& tensor) { return as_stored(tensor).contiguous(); }

at::Tensor new_dense(const at::Tensor& like, c10::Device device) {
  return at::empty(like.sizes(), like.options().device(device).memory_format(c10::MemoryFormat::Contiguous));
}

void transfer(const at::Tensor& dst, const at::Tensor& src, @{ cookiecutter.device }@MemcpyKind kind, c10::DeviceIndex device) {
  if (src.nbytes() > 0) {
    @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@MemcpyAsync(dst.mutable_data_ptr(), src.const_data_ptr(), src.nbytes(), kind,
                             current_driver_stream(device)));
  }
}

void synchronize(c10::DeviceIndex device) { @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@StreamSynchronize(current_driver_stream(device))); }

// One block to one block, so that no kernel and no second block is needed.
bool is_plain(const at::Tensor& dst, const at::Tensor& src) {
  return dst.is_contiguous() && dst.scalar_type() == src.scalar_type() && dst.sizes() == src.sizes() &&
      dst.is_conj() == src.is_conj() && dst.is_neg() == src.is_neg();
}

void host_to_device(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const c10::DeviceIndex device = dst.device().index();
  const at::Tensor host = dense(src);
  if (is_plain(dst, src)) {
    transfer(as_stored(dst), host, @{ cookiecutter.DEVICE }@_MEMCPY_HOST_TO_DEVICE, device);
  } else {
    const at::Tensor staged = new_dense(src, dst.device());
    transfer(staged, host, @{ cookiecutter.DEVICE }@_MEMCPY_HOST_TO_DEVICE, device);
    copy_on_device(dst, with_bits_of(staged, src));
  }
  // Only pinned memory waits for the stream when it is freed; all other host memory has to be waited for here.
  if (!non_blocking || !@{ cookiecutter.device }@IsHostPinned(host.const_data_ptr())) {
    synchronize(device);
  }
}

void device_to_host(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const c10::DeviceIndex device = src.device().index();
  const at::Tensor staged = dense(src);
  if (is_plain(dst, src)) {
    transfer(as_stored(dst), staged, @{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_HOST, device);
    if (!non_blocking || !@{ cookiecutter.device }@IsHostPinned(dst.const_data_ptr())) {
      synchronize(device);
    }
    return;
  }
  const at::Tensor host = new_dense(src, c10::Device(c10::kCPU));
  transfer(host, staged, @{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_HOST, device);
  synchronize(device);
  dst.copy_(with_bits_of(host, src));
}

// The two devices' current streams are ordered by events on both sides of the transfer.
void between_devices(const at::Tensor& dst, const at::Tensor& src) {
  const c10::Stream from = current_stream(src.device().index());
  const c10::Stream to = current_stream(dst.device().index());
  const at::Tensor source = dense(src);
  const at::Tensor staged = new_dense(src, dst.device());
  wait_for(to, from);
  transfer(staged, source, @{ cookiecutter.DEVICE }@_MEMCPY_DEVICE_TO_DEVICE, dst.device().index());
  wait_for(from, to);
  copy_on_device(dst, with_bits_of(staged, src));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  TORCH_CHECK(self.layout() == c10::kStrided && dst.layout() == c10::kStrided, "@{ cookiecutter.device }@ copies strided tensors only");
  if (dst.numel() == 0 && self.numel() == 0) {
    return dst;
  }
  if (self.device() == dst.device()) {
    copy_on_device(dst, self);
  } else if (self.is_cpu()) {
    host_to_device(dst, self, non_blocking);
  } else if (dst.is_cpu()) {
    device_to_host(dst, self, non_blocking);
  } else {
    TORCH_CHECK(self.is_privateuseone() && dst.is_privateuseone(), "can't copy from ", self.device(), " to ",
                dst.device());
    between_devices(dst, self);
  }
  return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  dst.resize_(self.sizes());
  return copy_from(self, dst, /*non_blocking=*/false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  return at::_local_scalar_dense(self.to(c10::kCPU));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
}

// Views that stand for a conjugate or a negative: PyTorch would resolve these with a clone before it calls the kernel, and
// a clone is a copy, without end. The kernel resolves them itself.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

} // namespace
} // namespace @{ cookiecutter.package }@
