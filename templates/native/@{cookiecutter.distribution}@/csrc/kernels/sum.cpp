// aten::sum.IntList_out, and through it every form of sum: over any dimensions, with keepdim and dtype=.
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ops/sum_meta.h>
#include <ATen/ops/sum_ops.h>
#include <torch/library.h>

#include "aten/fallback.h"
#include "kernels/elementwise.h"
#include "kernels/structured.h"

namespace @{ cookiecutter.package }@ {
namespace {

template <typename T>
T plus(T a, T b) {
  return a + b;
}
template <>
bool plus(bool a, bool b) {
  return a || b;
}

// Device code: adds numbers in the order of a binary tree over blocks, so that the error grows with the logarithm of
// their count. partial_[level] holds the sum of 2^level blocks, and is occupied where `blocks_` has that bit set.
template <typename T>
class TreeSum {
 public:
  void add_block(const T* block, int64_t count) {
    constexpr int kLanes = 8;
    T lane[kLanes] = {};
    for (int64_t i = 0; i < count; ++i) {
      lane[i % kLanes] = plus(lane[i % kLanes], block[i]);
    }
    T sum = plus(plus(plus(lane[0], lane[1]), plus(lane[2], lane[3])),
                 plus(plus(lane[4], lane[5]), plus(lane[6], lane[7])));
    int level = 0;
    for (; (blocks_ >> level) & 1; ++level) {
      sum = plus(partial_[level], sum);
    }
    partial_[level] = sum;
    ++blocks_;
  }

  T total() const {
    T sum{};
    for (int level = 0; level < kLevels; ++level) {
      if ((blocks_ >> level) & 1) {
        sum = plus(partial_[level], sum);
      }
    }
    return sum;
  }

 private:
  static constexpr int kLevels = 64;
  T partial_[kLevels];
  uint64_t blocks_ = 0;
};

// The dimensions of the input, split by what happens to them; sizes and strides as in Layout.
struct SumParams {
  Layout<2> kept;    // operand 0: the output, operand 1: where each output's inputs begin
  Layout<2> reduced; // operand 1: the way through the inputs of one output
};

// Device code.
template <typename T>
int sum_kernel(void* const* buffers, const void* raw_params) {
  const auto& params = *static_cast<const SumParams*>(raw_params);
  const Operand& out = params.kept.operand[0];
  const Operand& in = params.reduced.operand[1];
  T block[kBlock];
  for (int64_t row = 0; row < params.kept.rows(); ++row) {
    auto [out_row, in_row] = row_pointers(params.kept, buffers, row);
    for (int64_t column = 0; column < params.kept.row_length(); ++column) {
      void* const starts[] = {out_row, in_row + column * params.kept.operand[1].strides[0]};
      TreeSum<T> sum;
      for (int64_t reduced_row = 0; reduced_row < params.reduced.rows(); ++reduced_row) {
        const char* src = row_pointers(params.reduced, starts, reduced_row)[1];
        for (int64_t start = 0; start < params.reduced.row_length(); start += kBlock) {
          const int64_t count = std::min(kBlock, params.reduced.row_length() - start);
          convert_row(block, sizeof(T), kComputeDtype<T>, src + start * in.strides[0], in.strides[0], in.dtype, count);
          sum.add_block(block, count);
        }
      }
      const T total = sum.total();
      convert_row(out_row + column * out.strides[0], 0, out.dtype, &total, 0, kComputeDtype<T>, 1);
    }
  }
  return 0;
}

// PyTorch merges and orders the dimensions; a stride of 0 in the output marks those that are summed over.
SumParams split(const Layout<2>& layout) {
  SumParams params{};
  params.kept.operand = params.reduced.operand = layout.operand;
  for (int dim = 0; dim < layout.dims; ++dim) {
    Layout<2>& side = layout.operand[0].strides[dim] == 0 ? params.reduced : params.kept;
    side.sizes[side.dims] = layout.sizes[dim];
    for (int i = 0; i < 2; ++i) {
      side.operand[i].strides[side.dims] = layout.operand[i].strides[dim];
    }
    ++side.dims;
  }
  return params;
}

void sum_into(const at::Tensor& out, const at::Tensor& self, c10::OptionalIntArrayRef dim, bool keepdim) {
  at::assert_no_internal_overlap(out);
  if (self.numel() == 0) {
    out.zero_();
    return;
  }
  at::Tensor aligned = out;
  if (!keepdim) {
    const auto reduced = at::dim_list_to_bitset(dim, self.dim());
    for (int64_t i = 0; i < self.dim(); ++i) {
      aligned = reduced[i] ? aligned.unsqueeze(i) : aligned;
    }
  }
  const at::Tensor expanded = aligned.expand(self.sizes());
  auto iterator = at::TensorIteratorConfig()
                      .set_check_mem_overlap(false) // the output repeats on purpose
                      .add_output(expanded)
                      .add_const_input(self)
                      .resize_outputs(false)
                      .is_reduction(true)
                      .check_all_same_dtype(false)
                      .build();
  std::array<void*, 2> buffers{};
  const SumParams params = split(make_layout<2>(iterator, buffers));
  const c10::ScalarType dtype = out.scalar_type();
  const @{ cookiecutter.device }@Kernel_t kernel = dtype == c10::kBool ? &sum_kernel<bool>
      : dtype == c10::kDouble                    ? &sum_kernel<double>
      : out.is_floating_point()                  ? &sum_kernel<float>
                                                 : &sum_kernel<int64_t>;
  launch(out.device(), kernel, buffers, params);
}

at::Tensor& sum_out(const at::Tensor& self, c10::OptionalIntArrayRef dim, bool keepdim,
                    std::optional<c10::ScalarType> dtype, at::Tensor& out) {
  if (!are_computed(self, out)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(sum_IntList_out)(self, dim, keepdim, dtype, out);
  }
  Structured<at::meta::structured_sum_dim_IntList> op(out);
  op.meta(self, dim, keepdim, dtype);
  sum_into(op.output(), self, dim, keepdim);
  op.finish();
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("sum.IntList_out", TORCH_FN(sum_out)); }

} // namespace
} // namespace @{ cookiecutter.package }@
