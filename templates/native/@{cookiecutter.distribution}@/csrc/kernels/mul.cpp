// aten::mul.out, and through it mul and mul_.
#include <ATen/ops/mul_meta.h>
#include <ATen/ops/mul_ops.h>
#include <torch/library.h>

#include "aten/fallback.h"
#include "kernels/elementwise.h"
#include "kernels/structured.h"

namespace @{ cookiecutter.package }@ {
namespace {

template <typename T>
struct Mul {
  T operator()(T self, T other) const { return self * other; }
};

at::Tensor& mul_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  if (!are_computed(self, other, out)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(mul_out)(self, other, out);
  }
  Structured<at::meta::structured_mul_Tensor> op(out);
  op.meta(self, other);
  launch_elementwise<2>(op, [](auto zero) { return Mul<decltype(zero)>{}; });
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("mul.out", TORCH_FN(mul_out)); }

} // namespace
} // namespace @{ cookiecutter.package }@
