// aten::div.out, and through it div and div_: true division. Integers are promoted to the default floating-point dtype.
// Division with a rounding mode (div.out_mode) has no kernel here yet.
#include <ATen/ops/div_meta.h>
#include <ATen/ops/div_ops.h>
#include <torch/library.h>

#include "aten/fallback.h"
#include "kernels/elementwise.h"
#include "kernels/structured.h"

namespace @{ cookiecutter.package }@ {
namespace {

template <typename T>
struct Div {
  T operator()(T self, T other) const { return self / other; }
};

at::Tensor& div_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  if (!are_computed(self, other, out)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(div_out)(self, other, out);
  }
  Structured<at::meta::structured_div_Tensor> op(out);
  op.meta(self, other);
  launch_elementwise<2, Integers::never>(op, [](auto zero) { return Div<decltype(zero)>{}; });
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("div.out", TORCH_FN(div_out)); }

} // namespace
} // namespace @{ cookiecutter.package }@
