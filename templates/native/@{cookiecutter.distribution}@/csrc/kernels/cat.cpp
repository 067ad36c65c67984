// aten::cat.out, and through it cat, concat, stack, hstack and their like: each input is copied to its place.
#include <ATen/core/op_registration/adaption.h>
#include <ATen/ops/cat_meta.h>
#include <ATen/ops/cat_ops.h>
#include <torch/library.h>

#include "aten/fallback.h"
#include "kernels/convert.h"
#include "kernels/copy.h"
#include "kernels/structured.h"

namespace @{ cookiecutter.package }@ {
namespace {

// An empty one-dimensional tensor goes with anything, for historical reasons.
bool is_skipped(const at::Tensor& tensor) { return tensor.dim() == 1 && tensor.size(0) == 0; }

at::Tensor& cat_out(const at::ITensorListRef& tensors, int64_t dim, at::Tensor& out) {
  std::optional<c10::Device> device = out.device();
  bool convertible = true;
  for (const at::Tensor& tensor : tensors) {
    c10::impl::check_and_update_common_device(device, tensor, "cat", "tensors");
    convertible = convertible && is_convertible(tensor.scalar_type(), out.scalar_type());
  }
  if (!convertible) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(cat_out)(tensors, dim, out);
  }
  Structured<at::meta::structured_cat> op(out);
  const auto meta = op.meta(tensors, dim);
  int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    if (!is_skipped(tensor)) {
      const int64_t extent = tensor.size(meta.dim);
      copy_on_device(op.output().narrow(meta.dim, offset, extent), tensor);
      offset += extent;
    }
  }
  op.finish();
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("cat.out", TORCH_FN(cat_out)); }

} // namespace
} // namespace @{ cookiecutter.package }@
