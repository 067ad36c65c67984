// aten::mm.out and addmm.out, and through them mm, addmm, addmm_ and the linear layer without a batch:
// out = beta * self + alpha * (mat1 @ mat2).
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/ops/addmm_meta.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm_meta.h>
#include <ATen/ops/mm_ops.h>
#include <torch/library.h>

#include <vector>

#include "aten/fallback.h"
#include "kernels/elementwise.h"
#include "kernels/structured.h"

namespace @{ cookiecutter.package }@ {
namespace {

enum Buffer { kOut, kMat1, kMat2, kSelf, kBuffers };

struct Matrix {
  int64_t row_stride; // in bytes
  int64_t column_stride;
};

template <typename T>
struct MatmulParams {
  int64_t rows, columns, depth;
  std::array<Matrix, kBuffers> matrix;
  c10::ScalarType dtype; // of all four
  T alpha;
  T beta; // 0: `self` is not read, so that its NaN and infinities don't count
};

template <typename T>
const char* row_of(void* const* buffers, const MatmulParams<T>& params, Buffer which, int64_t row) {
  return static_cast<const char*>(buffers[which]) + row * params.matrix[which].row_stride;
}

// Device code: a row of T, whatever the strides and the dtype in memory.
template <typename T>
void load_row(T* row, const char* src, const MatmulParams<T>& params, Buffer which, int64_t count) {
  convert_row(row, sizeof(T), kComputeDtype<T>, src, params.matrix[which].column_stride, params.dtype, count);
}

// Device code: products are accumulated in T and rounded once, when the row of `out` is written.
template <typename T>
int matmul_kernel(void* const* buffers, const void* raw_params) {
  const auto& params = *static_cast<const MatmulParams<T>*>(raw_params);
  std::vector<T> mat2(params.depth * params.columns);
  for (int64_t k = 0; k < params.depth; ++k) {
    load_row(mat2.data() + k * params.columns, row_of(buffers, params, kMat2, k), params, kMat2, params.columns);
  }
  std::vector<T> mat1_row(params.depth);
  std::vector<T> sum(params.columns);
  std::vector<T> self_row(params.columns);
  for (int64_t i = 0; i < params.rows; ++i) {
    load_row(mat1_row.data(), row_of(buffers, params, kMat1, i), params, kMat1, params.depth);
    std::fill(sum.begin(), sum.end(), T(0));
    for (int64_t k = 0; k < params.depth; ++k) {
      const T factor = mat1_row[k];
      const T* mat2_row = mat2.data() + k * params.columns;
      for (int64_t j = 0; j < params.columns; ++j) {
        sum[j] += factor * mat2_row[j];
      }
    }
    if (params.beta == T(0)) {
      for (T& value : sum) {
        value *= params.alpha;
      }
    } else {
      load_row(self_row.data(), row_of(buffers, params, kSelf, i), params, kSelf, params.columns);
      for (int64_t j = 0; j < params.columns; ++j) {
        sum[j] = params.beta * self_row[j] + params.alpha * sum[j];
      }
    }
    convert_row(static_cast<char*>(buffers[kOut]) + i * params.matrix[kOut].row_stride,
                params.matrix[kOut].column_stride, params.dtype, sum.data(), sizeof(T), kComputeDtype<T>,
                params.columns);
  }
  return 0;
}

template <typename T>
void launch_matmul(const std::array<at::Tensor, kBuffers>& tensors, const at::Scalar& alpha, const at::Scalar& beta) {
  const at::Tensor& out = tensors[kOut];
  MatmulParams<T> params{out.size(0), out.size(1), tensors[kMat1].size(1), {}, out.scalar_type(), alpha.to<T>(),
                         beta.to<T>()};
  std::array<void*, kBuffers> buffers{};
  for (int i = 0; i < kBuffers; ++i) {
    const int64_t item = tensors[i].element_size();
    params.matrix[i] = {tensors[i].stride(0) * item, tensors[i].stride(1) * item};
    // An empty matrix has no address, and nothing of it is read.
    buffers[i] = const_cast<void*>((tensors[i].numel() > 0 ? tensors[i] : out).const_data_ptr());
  }
  buffers[kOut] = out.mutable_data_ptr();
  launch(out.device(), &matmul_kernel<T>, buffers, params);
}

void check_operands(const char* name, const at::Tensor& out, const at::Tensor& self, const at::Tensor& mat1,
                    const at::Tensor& mat2) {
  std::optional<c10::Device> device = out.device();
  c10::impl::check_and_update_common_device(device, self, name, "self");
  c10::impl::check_and_update_common_device(device, mat1, name, "mat1");
  c10::impl::check_and_update_common_device(device, mat2, name, "mat2");
  TORCH_CHECK(mat1.scalar_type() == mat2.scalar_type(), "expected mat1 and mat2 to have the same dtype, but got: ",
              mat1.scalar_type(), " != ", mat2.scalar_type());
  TORCH_CHECK(self.scalar_type() == mat2.scalar_type(), "self and mat2 must have the same dtype, but got ",
              self.scalar_type(), " and ", mat2.scalar_type());
}

bool may_overlap(const at::Tensor& out, const at::Tensor& input) {
  return out.is_alias_of(input) && at::get_overlap_status(out, input) != at::MemOverlapStatus::No;
}

void matmul_into(const at::Tensor& out, const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
                 const at::Scalar& alpha, const at::Scalar& beta) {
  at::assert_no_internal_overlap(out);
  if (out.numel() == 0) {
    return;
  }
  // Rows of `out` are written before all of the matrices has been read; row i of `self` is read just before.
  const bool in_the_way =
      may_overlap(out, mat1) || may_overlap(out, mat2) || (may_overlap(out, self) && !out.is_same(self));
  const at::Tensor written = in_the_way ? at::empty_like(out) : out;
  const std::array<at::Tensor, kBuffers> tensors{written, mat1, mat2, self};
  if (out.scalar_type() == c10::kDouble) {
    launch_matmul<double>(tensors, alpha, beta);
  } else if (out.is_floating_point()) {
    launch_matmul<float>(tensors, alpha, beta);
  } else {
    launch_matmul<int64_t>(tensors, alpha, beta);
  }
  if (in_the_way) {
    out.copy_(written);
  }
}

// PyTorch multiplies no matrices of bool or of wide unsigned integers: the fallback says so in its words.
bool is_multiplied(const at::Tensor& matrix) {
  return is_computed(matrix.scalar_type()) && matrix.scalar_type() != c10::kBool &&
      !c10::isBarebonesUnsignedType(matrix.scalar_type());
}

at::Tensor& mm_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) {
  if (!is_multiplied(self)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(mm_out)(self, mat2, out);
  }
  check_operands("mm", out, self, self, mat2);
  Structured<at::meta::structured_mm> op(out);
  op.meta(self, mat2);
  matmul_into(op.output(), op.output(), self, mat2, /*alpha=*/1, /*beta=*/0);
  op.finish();
  return out;
}

at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, const at::Scalar& beta,
                      const at::Scalar& alpha, at::Tensor& out) {
  if (!is_multiplied(mat1)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(addmm_out)(self, mat1, mat2, beta, alpha, out);
  }
  check_operands("addmm", out, self, mat1, mat2);
  Structured<at::meta::structured_addmm> op(out);
  op.meta(self, mat1, mat2, beta, alpha);
  const auto expanded = at::expand_size(self, {mat1.size(0), mat2.size(1)}, "addmm_out");
  matmul_into(op.output(), *expanded, mat1, mat2, alpha, beta);
  op.finish();
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mm.out", TORCH_FN(mm_out));
  m.impl("addmm.out", TORCH_FN(addmm_out));
}

} // namespace
} // namespace @{ cookiecutter.package }@
