// Operators that the boxed fallback can't serve, or not rightly. They run on the host all the same, and are counted.
//   convolution_overrideable, convolution_backward_overrideable: where PyTorch sends every convolution of a device like
//       this one; their host versions only throw.
//   native_batch_norm: writes the running statistics, and its schema doesn't say so: a copy would be written, and lost.
#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/native_batch_norm.h>
#include <torch/library.h>

#include "aten/fallback.h"

namespace @{ cookiecutter.package }@ {
namespace {

using Optional = std::optional<at::Tensor>;

at::Tensor to_host(const Optional& tensor) {
  return tensor.has_value() && tensor->defined() ? tensor->cpu() : at::Tensor();
}

at::Tensor to_device(const at::Tensor& tensor, c10::Device device) {
  return tensor.defined() ? tensor.to(device) : tensor;
}

void begin_fallback(const char* name) {
  if (!is_fallback_enabled()) {
    throw_no_kernel(name);
  }
  count_fallback(name);
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const Optional& bias,
                       c10::IntArrayRef stride, c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed,
                       c10::IntArrayRef output_padding, int64_t groups) {
  begin_fallback("aten::convolution_overrideable");
  const at::Tensor result =
      at::convolution(input.cpu(), weight.cpu(), to_host(bias), stride, padding, dilation,
                      transposed, output_padding, groups);
  return to_device(result, input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, c10::IntArrayRef stride,
    c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed, c10::IntArrayRef output_padding,
    int64_t groups, std::array<bool, 3> output_mask) {
  begin_fallback("aten::convolution_backward_overrideable");
  const std::array<int64_t, 1> bias_size{transposed ? weight.size(1) * groups : weight.size(0)};
  const auto [grad_input, grad_weight, grad_bias] =
      at::convolution_backward(grad_output.cpu(), input.cpu(), weight.cpu(), c10::IntArrayRef(bias_size), stride,
                               padding, dilation, transposed, output_padding, groups, output_mask);
  const c10::Device device = input.device();
  return {to_device(grad_input, device), to_device(grad_weight, device), to_device(grad_bias, device)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(const at::Tensor& input, const Optional& weight,
                                                          const Optional& bias, const Optional& running_mean,
                                                          const Optional& running_var, bool training, double momentum,
                                                          double eps) {
  begin_fallback("aten::native_batch_norm");
  const at::Tensor mean = to_host(running_mean);
  const at::Tensor var = to_host(running_var);
  const auto [output, save_mean, save_invstd] =
      at::native_batch_norm(input.cpu(), to_host(weight), to_host(bias), mean, var, training, momentum, eps);
  if (training && mean.defined()) {
    running_mean->copy_(mean);
  }
  if (training && var.defined()) {
    running_var->copy_(var);
  }
  const c10::Device device = input.device();
  return {to_device(output, device), to_device(save_mean, device), to_device(save_invstd, device)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  if (is_fallback_enabled()) {
    m.impl("convolution_overrideable", TORCH_FN(convolution));
    m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
    m.impl("native_batch_norm", TORCH_FN(batch_norm));
  }
}

} // namespace
} // namespace @{ cookiecutter.package }@
