// aten::uniform_, normal_ and bernoulli_.float, and through them rand, randn, dropout and their like.
// Element i of a call hashes (seed, i, offset), so that every element can be drawn by itself, in any order.
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/ops/bernoulli_ops.h>
#include <ATen/ops/normal_ops.h>
#include <ATen/ops/uniform_ops.h>
#include <torch/library.h>

#include <cmath>
#include <numbers>

#include "aten/fallback.h"
#include "kernels/elementwise.h"
#include "runtime/generator.h"

namespace @{ cookiecutter.package }@ {
namespace {

// Device code: a number in [0, 1) with as many bits as T has.
template <typename T>
T draw_unit(at::Philox4_32& engine) {
  const uint64_t high = engine();
  const uint64_t bits = (high << 32) | engine();
  constexpr int digits = std::numeric_limits<T>::digits;
  return static_cast<T>(bits >> (64 - digits)) * std::exp2(static_cast<T>(-digits));
}

template <typename T>
struct Uniform {
  T from;
  T to;
  T operator()(at::Philox4_32& engine) const { return from + draw_unit<T>(engine) * (to - from); }
  // Rounding, here or to a narrower dtype, may arrive at `to`, which is not in the range.
  T correct(T rounded) const { return rounded < to ? rounded : from; }
};

template <typename T>
struct Normal {
  T mean;
  T std;
  T operator()(at::Philox4_32& engine) const { // Box and Muller
    const T radius = std::sqrt(T(-2) * std::log1p(-draw_unit<T>(engine)));
    return mean + std * radius * std::cos(T(2) * std::numbers::pi_v<T> * draw_unit<T>(engine));
  }
  T correct(T rounded) const { return rounded; }
};

template <typename T>
struct Bernoulli {
  double probability;
  T operator()(at::Philox4_32& engine) const { return draw_unit<double>(engine) < probability ? T(1) : T(0); }
  T correct(T rounded) const { return rounded; }
};

template <typename Draw>
struct RandomParams {
  Layout<1> layout;
  RandomPosition position;
  Draw draw;
};

// Device code.
template <typename T, typename Draw>
int random_kernel(void* const* buffers, const void* raw_params) {
  const auto& params = *static_cast<const RandomParams<Draw>*>(raw_params);
  const Operand& out = params.layout.operand[0];
  const auto width = static_cast<int64_t>(sizeof(T));
  T block[kBlock];
  alignas(16) char rounded[kBlock * 8];
  uint64_t element = 0;
  for (int64_t row = 0; row < params.layout.rows(); ++row) {
    char* dst = row_pointers(params.layout, buffers, row)[0];
    for (int64_t start = 0; start < params.layout.row_length(); start += kBlock) {
      const int64_t count = std::min(kBlock, params.layout.row_length() - start);
      for (int64_t i = 0; i < count; ++i) {
        at::Philox4_32 engine(params.position.seed, element++, params.position.offset);
        block[i] = params.draw(engine);
      }
      const auto out_width = static_cast<int64_t>(c10::elementSize(out.dtype));
      convert_row(rounded, out_width, out.dtype, block, width, kComputeDtype<T>, count);
      convert_row(block, width, kComputeDtype<T>, rounded, out_width, out.dtype, count);
      for (int64_t i = 0; i < count; ++i) {
        block[i] = params.draw.correct(block[i]);
      }
      convert_row(dst + start * out.strides[0], out.strides[0], out.dtype, block, width, kComputeDtype<T>, count);
    }
  }
  return 0;
}

// Host code: draws into `self`. `make` is called with a value of the type to compute in and returns the distribution.
template <typename Make>
at::Tensor& launch_random(at::Tensor& self, const std::optional<at::Generator>& generator, const Make& make) {
  auto iterator = at::TensorIterator::borrowing_nullary_op(self);
  if (iterator.numel() == 0) {
    return self;
  }
  std::array<void*, 1> buffers{};
  const auto layout = make_layout<1>(iterator, buffers);
  const RandomPosition position = draw(generator, self.device().index(), /*count=*/1);
  const auto launch_as = [&](auto zero) {
    using T = decltype(zero);
    const auto draw = make(zero);
    using Draw = std::remove_const_t<decltype(draw)>;
    launch(self.device(), &random_kernel<T, Draw>, buffers, RandomParams<Draw>{layout, position, draw});
  };
  if (self.scalar_type() == c10::kDouble) {
    launch_as(double{});
  } else {
    launch_as(float{}); // the integers that bernoulli_ needs are 0 and 1
  }
  return self;
}

at::Tensor& uniform_(at::Tensor& self, double from, double to, std::optional<at::Generator> generator) {
  if (!self.is_floating_point() || !are_computed(self)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(uniform_)(self, from, to, generator);
  }
  TORCH_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  TORCH_CHECK(std::isfinite(to - from), "uniform_ expects a finite range, but found [", from, ", ", to, ")");
  return launch_random(self, generator, [&](auto zero) {
    using T = decltype(zero);
    return Uniform<T>{static_cast<T>(from), static_cast<T>(to)};
  });
}

at::Tensor& normal_(at::Tensor& self, double mean, double std, std::optional<at::Generator> generator) {
  if (!self.is_floating_point() || !are_computed(self)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(normal_)(self, mean, std, generator);
  }
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  return launch_random(self, generator, [&](auto zero) {
    using T = decltype(zero);
    return Normal<T>{static_cast<T>(mean), static_cast<T>(std)};
  });
}

at::Tensor& bernoulli_(at::Tensor& self, double p, std::optional<at::Generator> generator) {
  if (!are_computed(self)) {
    return @{ cookiecutter.DEVICE }@_CPU_FALLBACK(bernoulli__float)(self, p, generator);
  }
  TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  return launch_random(self, generator, [&](auto zero) { return Bernoulli<decltype(zero)>{p}; });
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("uniform_", TORCH_FN(uniform_));
  m.impl("normal_", TORCH_FN(normal_));
  m.impl("bernoulli_.float", TORCH_FN(bernoulli_));
}

} // namespace
} // namespace @{ cookiecutter.package }@
