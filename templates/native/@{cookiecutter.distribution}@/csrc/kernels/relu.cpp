// aten::relu and relu_: NaN stays NaN. This operator has no out= form of its own, so both are written here.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/relu_ops.h>
#include <torch/library.h>

#include "aten/fallback.h"
#include "kernels/elementwise.h"

namespace @{ cookiecutter.package }@ {
namespace {

template <typename T>
struct Relu {
  T operator()(T self) const { return self <= T(0) ? T(0) : self; } // false for NaN, which is returned
};

void relu_into(const at::Tensor& out, const at::Tensor& self) {
  TORCH_CHECK(self.scalar_type() != c10::kBool, "Boolean inputs not supported for relu");
  at::TensorIterator iterator;
  iterator.build_unary_op(out, self);
  launch_elementwise<1>(iterator, [](auto zero) { return Relu<decltype(zero)>{}; });
}

at::Tensor relu(const at::Tensor& self) {
  if (!are_computed(self)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(relu)(self);
  }
  at::Tensor out = at::empty_like(self);
  relu_into(out, self);
  return out;
}

at::Tensor& relu_(at::Tensor& self) {
  if (!are_computed(self)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(relu_)(self);
  }
  relu_into(self, self);
  return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("relu", TORCH_FN(relu));
  m.impl("relu_", TORCH_FN(relu_));
}

} // namespace
} // namespace @{ cookiecutter.package }@
