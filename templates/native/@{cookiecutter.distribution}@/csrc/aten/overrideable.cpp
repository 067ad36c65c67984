// Convolutions. For a device like this one PyTorch routes every convolution to two operators that no boxed fallback can
// reach, because their host versions only throw. Until there are kernels they run on the host here, and are counted.
#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <torch/library.h>

#include "aten/fallback.h"

namespace @{ cookiecutter.package }@ {
namespace {

at::Tensor to_host(const at::Tensor& tensor) { return tensor.defined() ? tensor.cpu() : tensor; }

at::Tensor to_device(const at::Tensor& tensor, c10::Device device) {
  return tensor.defined() ? tensor.to(device) : tensor;
}

void begin_fallback(const char* name) {
  if (!is_fallback_enabled()) {
    throw_no_kernel(name);
  }
  count_fallback(name);
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       c10::IntArrayRef stride, c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed,
                       c10::IntArrayRef output_padding, int64_t groups) {
  begin_fallback("aten::convolution_overrideable");
  const at::Tensor result =
      at::convolution(input.cpu(), weight.cpu(), to_host(bias.value_or(at::Tensor())), stride, padding, dilation,
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

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  if (is_fallback_enabled()) {
    m.impl("convolution_overrideable", TORCH_FN(convolution));
    m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
  }
}

} // namespace
} // namespace @{ cookiecutter.package }@
