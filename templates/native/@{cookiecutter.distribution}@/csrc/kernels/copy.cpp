// The copy kernel: strided, broadcasting, converting. aten/copy.cpp decides when it runs.
#include "kernels/copy.h"

#include "kernels/convert.h"
#include "kernels/layout.h"

namespace @{ cookiecutter.package }@ {
namespace {

struct CopyParams {
  Layout<2> layout;
  // PyTorch has views that stand for the conjugate or the negative of what is stored.
  bool conjugate;
  bool negate;
};

// Device code: flips the sign of the real part, the imaginary part or both, of `count` numbers of `item` bytes.
template <typename Real>
void flip_signs(char* dst, int64_t stride, int64_t count, bool is_complex, const CopyParams& params) {
  for (int64_t i = 0; i < count; ++i) {
    auto* number = reinterpret_cast<Real*>(dst + i * stride);
    if (params.negate) {
      number[0] = -number[0];
    }
    if (is_complex && params.negate != params.conjugate) {
      number[1] = -number[1];
    }
  }
}

void flip_row(char* dst, int64_t count, const CopyParams& params) {
  const Operand& out = params.layout.operand[0];
  const int64_t stride = out.strides[0];
  const bool is_complex = c10::isComplexType(out.dtype);
  switch (is_complex ? c10::toRealValueType(out.dtype) : out.dtype) {
    case c10::kDouble:
      return flip_signs<double>(dst, stride, count, is_complex, params);
    case c10::kFloat:
      return flip_signs<float>(dst, stride, count, is_complex, params);
    case c10::kHalf:
      return flip_signs<c10::Half>(dst, stride, count, is_complex, params);
    case c10::kBFloat16:
      return flip_signs<c10::BFloat16>(dst, stride, count, is_complex, params);
    case c10::kLong:
      return flip_signs<int64_t>(dst, stride, count, is_complex, params);
    case c10::kInt:
      return flip_signs<int32_t>(dst, stride, count, is_complex, params);
    case c10::kShort:
      return flip_signs<int16_t>(dst, stride, count, is_complex, params);
    default:
      return flip_signs<int8_t>(dst, stride, count, is_complex, params);
  }
}

int copy_kernel(void* const* buffers, const void* raw_params) {
  const auto& params = *static_cast<const CopyParams*>(raw_params);
  const auto& [out, in] = params.layout.operand;
  for (int64_t row = 0; row < params.layout.rows(); ++row) {
    const auto pointers = row_pointers(params.layout, buffers, row);
    convert_row(pointers[0], out.strides[0], out.dtype, pointers[1], in.strides[0], in.dtype,
                params.layout.row_length());
    if (params.conjugate || params.negate) {
      flip_row(pointers[0], params.layout.row_length(), params);
    }
  }
  return 0;
}

} // namespace

void copy_on_device(const at::Tensor& dst, const at::Tensor& src) {
  TORCH_CHECK(is_convertible(src.scalar_type(), dst.scalar_type()), "@{ cookiecutter.device }@ can't convert ", src.scalar_type(), " to ",
              dst.scalar_type());
  auto iterator = at::TensorIteratorConfig()
                      .add_output(dst)
                      .add_const_input(src)
                      .resize_outputs(false)
                      .check_all_same_dtype(false)
                      .build();
  if (iterator.numel() == 0) {
    return;
  }
  std::array<void*, 2> buffers{};
  const auto layout = make_layout<2>(iterator, buffers);
  launch(dst.device(), &copy_kernel, buffers,
         CopyParams{layout, src.is_conj() != dst.is_conj(), src.is_neg() != dst.is_neg()});
}

} // namespace @{ cookiecutter.package }@
