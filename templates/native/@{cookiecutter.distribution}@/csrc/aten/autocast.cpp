// torch.autocast("@{ cookiecutter.device }@"): which operators run in the lower-precision dtype, and which need float32 all the same.
// Interface: the dispatch key AutocastPrivateUse1. The kernels are boxed, so that one function serves every signature.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

// Of <ATen/autocast_mode.h>, which can't be included for less than every operator of PyTorch.
namespace at::autocast {
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API Tensor cached_cast(at::ScalarType to_type, const Tensor& arg, c10::DeviceType device_type);
} // namespace at::autocast

namespace @{ cookiecutter.package }@ {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

// Calls `change` on each tensor among the arguments, alone or in a list.
template <typename Change>
void for_each_tensor(const c10::OperatorHandle& op, torch::jit::Stack* stack, const Change& change) {
  const size_t count = op.schema().arguments().size();
  for (size_t i = stack->size() - count; i < stack->size(); ++i) {
    c10::IValue& argument = (*stack)[i];
    if (argument.isTensor() && argument.toTensor().defined()) {
      argument = change(argument.toTensor());
    } else if (argument.isTensorList()) {
      c10::List<at::Tensor> changed;
      for (const at::Tensor& tensor : argument.toTensorVector()) {
        changed.push_back(change(tensor));
      }
      argument = changed;
    }
  }
}

void call_with(c10::ScalarType dtype, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);
  for_each_tensor(op, stack, [dtype](const at::Tensor& tensor) {
    return at::autocast::cached_cast(dtype, tensor, kType);
  });
  op.callBoxed(stack);
}

void lower_precision(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  call_with(at::autocast::get_autocast_dtype(kType), op, stack);
}

void full_precision(const c10::OperatorHandle& op, torch::jit::Stack* stack) { call_with(c10::kFloat, op, stack); }

// Operators that want one dtype throughout: the lower one, unless a float32 tensor is among the arguments.
void widest(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  c10::ScalarType dtype = at::autocast::get_autocast_dtype(kType);
  for_each_tensor(op, stack, [&dtype](const at::Tensor& tensor) {
    if (tensor.is_privateuseone() && tensor.scalar_type() == c10::kFloat) {
      dtype = c10::kFloat;
    }
    return tensor;
  });
  call_with(dtype, op, stack);
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

// The lists are those of PyTorch's own accelerators.
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  for (const char* name : {"_convolution", "_convolution.deprecated", "conv1d", "conv2d", "conv3d", "conv_tbc",
                           "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "convolution",
                           "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv", "linalg_vecdot",
                           "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "lstm_cell",
                           "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "scaled_dot_product_attention"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&lower_precision>());
  }
  for (const char* name : {"acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p",
                           "reciprocal", "rsqrt", "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor",
                           "pow.Scalar", "softplus", "layer_norm", "native_layer_norm", "rms_norm", "group_norm",
                           "frobenius_norm.dim", "nuclear_norm", "nuclear_norm.dim", "cosine_similarity",
                           "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d",
                           "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss",
                           "margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss",
                           "multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm",
                           "logsumexp", "prod", "prod.dim_int", "softmax.int", "log_softmax.int", "cumprod", "cumsum",
                           "linalg_vector_norm", "linalg_matrix_norm", "linalg_matrix_norm.str_ord", "sum",
                           "sum.dim_IntList", "norm.Scalar", "norm.ScalarOpt_dim"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&full_precision>());
  }
  for (const char* name : {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler",
                           "index_put", "tensordot", "scatter_add"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&widest>());
  }
}

} // namespace
} // namespace @{ cookiecutter.package }@
