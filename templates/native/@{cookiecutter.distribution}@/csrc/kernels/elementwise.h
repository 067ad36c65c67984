// The frame of every elementwise kernel: an operator file gives the formula for one element, this gives it rows of them.
//
// Device code reads a block of each input into local buffers of the type it computes in, applies the formula, and writes
// the block back, so that a formula knows nothing of strides, broadcasting, dtypes or numbers that come from the host.
//   float32, float16, bfloat16  compute in float    (one rounding at the end)
//   float64                     compute in double
//   integers, bool              compute in int64_t  (wrapping to the dtype at the end is wrapping all along)
#pragma once

#include "kernels/convert.h"
#include "kernels/layout.h"

namespace @{ cookiecutter.package }@ {

constexpr int64_t kBlock = 256; // elements held in local memory for each operand

template <typename T>
constexpr c10::ScalarType kComputeDtype = c10::CppTypeToScalarType<T>::value;

// The dtypes that a kernel computes natively. The rest, such as complex and float8, is left to the fallback.
inline bool is_computed(c10::ScalarType dtype) {
  return c10::isIntegralType(dtype, /*includeBool=*/true) ? dtype != c10::ScalarType::UInt64
                                                          : dtype == c10::kFloat || dtype == c10::kDouble ||
          dtype == c10::kHalf || dtype == c10::kBFloat16;
}

template <typename... Tensors>
bool are_computed(const Tensors&... tensors) {
  return (is_computed(tensors.scalar_type()) && ...);
}

// Device code: one block of an input, converted to T. A tensor is first rounded to the common dtype, as PyTorch casts
// its operands; a number from the host is not, it keeps its precision.
template <typename T>
void load_block(T* block, const char* src, int64_t stride, const Operand& operand, c10::ScalarType common,
                int64_t count) {
  const auto width = static_cast<int64_t>(sizeof(T));
  if (operand.buffer < 0 || operand.dtype == common) {
    convert_row(block, width, kComputeDtype<T>, src, stride, operand.dtype, count);
    return;
  }
  alignas(16) char rounded[kBlock * 8];
  const auto common_width = static_cast<int64_t>(c10::elementSize(common));
  convert_row(rounded, common_width, common, src, stride, operand.dtype, count);
  convert_row(block, width, kComputeDtype<T>, rounded, common_width, common, count);
}

// Device code: one block of the output, rounded to the common dtype and then cast to that of `out`.
template <typename T>
void store_block(char* dst, int64_t stride, const Operand& operand, c10::ScalarType common, const T* block,
                 int64_t count) {
  const auto width = static_cast<int64_t>(sizeof(T));
  if (operand.dtype == common) {
    convert_row(dst, stride, common, block, width, kComputeDtype<T>, count);
    return;
  }
  alignas(16) char rounded[kBlock * 8];
  const auto common_width = static_cast<int64_t>(c10::elementSize(common));
  convert_row(rounded, common_width, common, block, width, kComputeDtype<T>, count);
  convert_row(dst, stride, operand.dtype, rounded, common_width, common, count);
}

template <typename Formula, int inputs>
struct ElementwiseParams {
  Layout<inputs + 1> layout;
  Formula formula;
};

// Device code: the kernel itself, for one formula and one type to compute in.
template <typename T, typename Formula, int inputs>
int elementwise_kernel(void* const* buffers, const void* raw_params) {
  const auto& params = *static_cast<const ElementwiseParams<Formula, inputs>*>(raw_params);
  const auto& layout = params.layout;
  alignas(64) T block[inputs + 1][kBlock];
  for (int64_t row = 0; row < layout.rows(); ++row) {
    auto pointers = row_pointers(layout, buffers, row);
    for (int64_t start = 0; start < layout.row_length(); start += kBlock) {
      const int64_t count = std::min(kBlock, layout.row_length() - start);
      for (int i = 1; i <= inputs; ++i) {
        const int64_t stride = layout.operand[i].strides[0];
        load_block(block[i], pointers[i] + start * stride, stride, layout.operand[i], layout.common_dtype, count);
      }
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (inputs == 1) {
          block[0][i] = params.formula(block[1][i]);
        } else {
          block[0][i] = params.formula(block[1][i], block[2][i]);
        }
      }
      const int64_t stride = layout.operand[0].strides[0];
      store_block(pointers[0] + start * stride, stride, layout.operand[0], layout.common_dtype, block[0], count);
    }
  }
  return 0;
}

// Host code: launches the formula over an iterator. `make` is called with a value of the type to compute in and returns
// the formula for it, a trivially copyable function object. Integers are left out where an operator never computes in them.
enum class Integers { computed, never };

template <int inputs, Integers integers = Integers::computed, typename Make>
void launch_elementwise(const at::TensorIteratorBase& iterator, const Make& make) {
  if (iterator.numel() == 0) {
    return;
  }
  std::array<void*, inputs + 1> buffers{};
  const auto layout = make_layout<inputs + 1>(iterator, buffers);
  const auto launch_as = [&](auto zero) {
    using T = decltype(zero);
    const auto formula = make(zero);
    using Formula = std::remove_const_t<decltype(formula)>;
    launch(iterator.device(0), &elementwise_kernel<T, Formula, inputs>, buffers,
           ElementwiseParams<Formula, inputs>{layout, formula});
  };
  if (layout.common_dtype == c10::kDouble) {
    launch_as(double{});
  } else if (c10::isFloatingType(layout.common_dtype)) {
    launch_as(float{});
  } else if constexpr (integers == Integers::computed) {
    launch_as(int64_t{});
  } else {
    TORCH_INTERNAL_ASSERT(false, "not promoted to a floating-point dtype: ", layout.common_dtype);
  }
}

} // namespace @{ cookiecutter.package }@
