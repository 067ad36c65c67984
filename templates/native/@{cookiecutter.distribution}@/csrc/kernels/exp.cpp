// aten::exp.out, and through it exp and exp_. Integers are promoted to the default floating-point dtype.
#include <ATen/ops/exp_meta.h>
#include <ATen/ops/exp_ops.h>
#include <torch/library.h>

#include <cmath>

#include "aten/fallback.h"
#include "kernels/elementwise.h"
#include "kernels/structured.h"

namespace @{ cookiecutter.package }@ {
namespace {

template <typename T>
struct Exp {
  T operator()(T self) const { return std::exp(self); }
};

at::Tensor& exp_out(const at::Tensor& self, at::Tensor& out) {
  if (!are_computed(self, out)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(exp_out)(self, out);
  }
  Structured<at::meta::structured_exp> op(out);
  op.meta(self);
  launch_elementwise<1, Integers::never>(op, [](auto zero) { return Exp<decltype(zero)>{}; });
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("exp.out", TORCH_FN(exp_out)); }

} // namespace
} // namespace @{ cookiecutter.package }@
