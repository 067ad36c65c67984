// aten::sub.out, and through it sub and sub_: self - alpha * other.
#include <ATen/ops/sub_meta.h>
#include <ATen/ops/sub_ops.h>
#include <torch/library.h>

#include "aten/fallback.h"
#include "kernels/elementwise.h"
#include "kernels/structured.h"

namespace @{ cookiecutter.package }@ {
namespace {

template <typename T>
struct Sub {
  T alpha;
  T operator()(T self, T other) const { return self - alpha * other; }
};

at::Tensor& sub_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha, at::Tensor& out) {
  if (!are_computed(self, other, out)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(sub_out)(self, other, alpha, out);
  }
  Structured<at::meta::structured_sub_Tensor> op(out);
  op.meta(self, other, alpha);
  launch_elementwise<2>(op, [&](auto zero) { return Sub<decltype(zero)>{alpha.to<decltype(zero)>()}; });
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("sub.out", TORCH_FN(sub_out)); }

} // namespace
} // namespace @{ cookiecutter.package }@
