// The CPU fallback, registered for every operator that has no kernel on this device. It makes a new backend useful
// before it is complete, and it hides what is missing: so each call is counted, and TORCH_@{ cookiecutter.DEVICE }@_CPU_FALLBACK=0 removes it.
#include "aten/fallback.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/library.h>

#include <cstdlib>
#include <mutex>

#include "runtime/device.h"
#include "runtime/generator.h"

namespace @{ cookiecutter.package }@ {
namespace {

std::mutex mutex;
std::map<std::string, uint64_t> counts;

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

bool takes_generator(const c10::Argument& argument) {
  const c10::TypePtr& type = argument.type();
  const auto optional = type->cast<c10::OptionalType>();
  return (optional ? optional->getElementType() : type)->kind() == c10::TypeKind::GeneratorType;
}

// Where the call runs: the device of its first tensor, or the one it names.
c10::DeviceIndex device_of(c10::ArrayRef<c10::IValue> arguments) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor() && argument.toTensor().defined() && argument.toTensor().is_privateuseone()) {
      return argument.toTensor().device().index();
    }
    if (argument.isDevice() && argument.toDevice().is_privateuseone()) {
      return argument.toDevice().index();
    }
  }
  return -1;
}

// Makes the host's default generator draw from the device's, for operators that take none, and puts it back.
class HostSeed {
 public:
  explicit HostSeed(uint64_t seed) : generator_(at::detail::getDefaultCPUGenerator()) {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    saved_ = generator_.get_state();
    generator_.set_current_seed(seed);
  }
  ~HostSeed() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(saved_);
  }
  HostSeed(const HostSeed&) = delete;
  HostSeed& operator=(const HostSeed&) = delete;

 private:
  at::Generator generator_;
  at::Tensor saved_;
};

uint64_t host_seed(const RandomPosition& position) {
  // Finalizer of MurmurHash3: neighbouring offsets must not give related host seeds.
  uint64_t x = position.seed ^ (position.offset * 0x9E3779B97F4A7C15ULL);
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDULL;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53ULL;
  return x ^ (x >> 33);
}

// A random operator served by the host still belongs to the device's generator: it is seeded from there.
void random_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  c10::IValue* generator = nullptr;
  for (size_t i = 0; i < arguments.size(); ++i) {
    generator = takes_generator(arguments[i]) ? &(*stack)[first + i] : generator;
  }
  const bool given = generator != nullptr && !generator->isNone();
  const c10::DeviceIndex device = device_of(c10::ArrayRef<c10::IValue>(*stack).slice(first));
  const uint64_t seed = host_seed(draw(given ? std::optional(generator->toGenerator()) : std::nullopt, device, 1));
  if (generator != nullptr) {
    *generator = at::Generator(at::detail::createCPUGenerator(seed));
    at::native::cpu_fallback(op, stack);
  } else {
    const HostSeed default_generator_follows(seed);
    at::native::cpu_fallback(op, stack);
  }
}

} // namespace

bool is_fallback_enabled() {
  static const bool enabled = [] {
    const char* value = std::getenv("TORCH_@{ cookiecutter.DEVICE }@_CPU_FALLBACK");
    return value == nullptr || std::string(value) != "0";
  }();
  return enabled;
}

std::map<std::string, uint64_t> fallback_counts() {
  const std::lock_guard<std::mutex> lock(mutex);
  return counts;
}

void reset_fallback_counts() {
  const std::lock_guard<std::mutex> lock(mutex);
  counts.clear();
}

void count_fallback(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex);
  ++counts[name];
}

void throw_no_kernel(const std::string& name) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Could not run '", name, "' with arguments from the 'PrivateUse1' backend: @{ cookiecutter.device }@ has "
                              "no kernel for these arguments, and TORCH_@{ cookiecutter.DEVICE }@_CPU_FALLBACK=0 turned the fallback off.");
}

void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string name = full_name(op.operator_name());
  if (!is_fallback_enabled()) {
    throw_no_kernel(name);
  }
  count_fallback(name);
  if (op.hasTag(at::Tag::nondeterministic_seeded)) {
    random_fallback(op, stack);
  } else {
    at::native::cpu_fallback(op, stack);
  }
}

// Without the registration an operator is as absent as it can be, and PyTorch itself says so.
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  if (is_fallback_enabled()) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>());
  }
}

// Two that would not fall back by themselves: PyTorch composes them for devices without a kernel, from operators that
// round to bfloat16 one by one. The host's kernels round once.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  if (is_fallback_enabled()) {
    m.impl("native_layer_norm", torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>());
    m.impl("native_group_norm", torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>());
  }
}

} // namespace @{ cookiecutter.package }@
