// aten::add.out, and through it add and add_: self + alpha * other.
#include <ATen/ops/add_meta.h>
#include <ATen/ops/add_ops.h>
#include <torch/library.h>

#include "aten/fallback.h"
#include "kernels/elementwise.h"
#include "kernels/structured.h"

namespace @{ cookiecutter.package }@ {
namespace {

template <typename T>
struct Add {
  T alpha;
  T operator()(T self, T other) const { return self + alpha * other; }
};

at::Tensor& add_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha, at::Tensor& out) {
  if (!are_computed(self, other, out)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(add_out)(self, other, alpha, out);
  }
  Structured<at::meta::structured_add_Tensor> op(out);
  op.meta(self, other, alpha);
  launch_elementwise<2>(op, [&](auto zero) { return Add<decltype(zero)>{alpha.to<decltype(zero)>()}; });
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("add.out", TORCH_FN(add_out)); }

} // namespace
} // namespace @{ cookiecutter.package }@
