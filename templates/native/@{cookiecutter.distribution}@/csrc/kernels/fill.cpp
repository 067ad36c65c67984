// aten::fill_ and zero_: one number into every element.
#include <ATen/Dispatch_v2.h>
#include <ATen/ops/fill_ops.h>
#include <torch/library.h>

#include "kernels/convert.h"
#include "kernels/layout.h"

namespace @{ cookiecutter.package }@ {
namespace {

// Device code. The number comes as an immediate of the tensor's own dtype: filling is copying it to each element.
int fill_kernel(void* const* buffers, const void* raw_params) {
  const auto& layout = *static_cast<const Layout<1>*>(raw_params);
  const Operand& out = layout.operand[0];
  for (int64_t row = 0; row < layout.rows(); ++row) {
    char* start = row_pointers(layout, buffers, row)[0];
    convert_row(start, out.strides[0], out.dtype, out.immediate.data(), 0, out.dtype, layout.row_length());
  }
  return 0;
}

at::Tensor& fill_scalar(at::Tensor& self, const at::Scalar& value) {
  auto iterator = at::TensorIteratorConfig().add_output(self).check_all_same_dtype(false).resize_outputs(false).build();
  std::array<void*, 1> buffers{};
  auto layout = make_layout<1>(iterator, buffers);
  // Converting to the dtype checks the range: fill_(300) on uint8 is an error, not 44.
  AT_DISPATCH_V2(self.scalar_type(), "fill_", AT_WRAP([&] {
                   const auto number = value.to<scalar_t>();
                   std::memcpy(layout.operand[0].immediate.data(), &number, sizeof number);
                 }),
                 AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), AT_EXPAND(AT_FLOAT8_TYPES),
                 c10::kBool, c10::kHalf, c10::kBFloat16, c10::kComplexHalf);
  if (iterator.numel() > 0) {
    launch(self.device(), &fill_kernel, buffers, layout);
  }
  return self;
}

at::Tensor& fill_tensor(at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
              " dimensions.");
  // A copy broadcasts and converts, and where the value is on the device it doesn't have to come to the host.
  return self.copy_(value);
}

at::Tensor& zero_(at::Tensor& self) { return fill_scalar(self, 0); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("fill_.Scalar", TORCH_FN(fill_scalar));
  m.impl("fill_.Tensor", TORCH_FN(fill_tensor));
  m.impl("zero_", TORCH_FN(zero_));
}

} // namespace
} // namespace @{ cookiecutter.package }@
