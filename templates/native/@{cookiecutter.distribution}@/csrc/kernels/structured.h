// Host code: gives an out= kernel PyTorch's own checks. The meta class of an operator knows its shape, dtype, promotion
// and overlap rules and asks its owner for the output tensor; this owner answers with the `out` that the kernel was given.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>

namespace @{ cookiecutter.package }@ {

// Structured<at::meta::structured_mm> op(out); op.meta(self, mat2); /* write op.output() */ op.finish();
template <typename Meta>
class Structured final : public Meta {
 public:
  explicit Structured(const at::Tensor& out) : out_(out), written_(out) {}

  // `out`, resized; or a temporary where `out` can't have the strides that the operator needs.
  const at::Tensor& output() const { return written_; }
  const at::Tensor& maybe_get_output(int64_t) override { return written_; }

  // The kernel takes any strides.
  void set_output_raw_strided(int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                              c10::TensorOptions options) override {
    resize(sizes, strides, options);
    tell_iterator(index, sizes, strides, options);
  }

  // The kernel relies on exactly these strides.
  void set_output_strided(int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                          c10::TensorOptions options) override {
    resize(sizes, strides, options);
    if (!strides.empty() && out_.strides() != strides) {
      written_ = out_.new_empty_strided(sizes, strides);
    }
    tell_iterator(index, sizes, strides, options);
  }

  void finish() const {
    if (!written_.is_same(out_)) {
      out_.copy_(written_);
    }
  }

 private:
  void resize(c10::IntArrayRef sizes, c10::IntArrayRef strides, const c10::TensorOptions& options) {
    TORCH_CHECK(options.dtype() == out_.dtype(), "Expected out tensor to have dtype ", options.dtype(), ", but got ",
                out_.dtype(), " instead");
    TORCH_CHECK(options.device() == out_.device(), "Expected out tensor to have device ", options.device(),
                ", but got ", out_.device(), " instead");
    if (!at::native::resize_output(out_, sizes)) {
      return;
    }
    if (!strides.empty()) {
      out_.as_strided_(sizes, strides);
    } else if (options.memory_format_opt().has_value()) {
      out_.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
    }
  }

  void tell_iterator(int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::TensorOptions options) {
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Meta>) {
      Meta::set_output_raw_strided(index, sizes, strides, options);
    }
  }

  const at::Tensor& out_;
  at::Tensor written_;
};

} // namespace @{ cookiecutter.package }@
