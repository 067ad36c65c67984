// torch.Generator(device="@{ cookiecutter.device }@"), manual_seed, get_rng_state. Interface: c10::GeneratorImpl.
// The state is a seed and an offset, 16 bytes: kernels hash (seed, offset + i), so a state round trip is exact.
#include "runtime/generator.h"

#include <ATen/Utils.h>
#include <ATen/core/Tensor.h>

#include <cstring>
#include <deque>

#include "runtime/device.h"

namespace @{ cookiecutter.package }@ {
namespace {

constexpr int64_t kStateBytes = 2 * sizeof(uint64_t);

} // namespace

@{ cookiecutter.class_name }@Generator::@{ cookiecutter.class_name }@Generator(c10::DeviceIndex device)
    : c10::GeneratorImpl(c10::Device(kDeviceType, device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

void @{ cookiecutter.class_name }@Generator::set_current_seed(uint64_t seed) {
  seed_ = seed;
  offset_ = 0;
}

uint64_t @{ cookiecutter.class_name }@Generator::current_seed() const { return seed_; }

uint64_t @{ cookiecutter.class_name }@Generator::seed() {
  const uint64_t random = c10::detail::getNonDeterministicRandom();
  set_current_seed(random);
  return random;
}

void @{ cookiecutter.class_name }@Generator::set_offset(uint64_t offset) { offset_ = offset; }

uint64_t @{ cookiecutter.class_name }@Generator::get_offset() const { return offset_; }

c10::intrusive_ptr<c10::TensorImpl> @{ cookiecutter.class_name }@Generator::get_state() const {
  at::Tensor state = at::detail::empty_cpu({kStateBytes}, at::kByte);
  const uint64_t words[] = {seed_, offset_};
  std::memcpy(state.mutable_data_ptr(), words, kStateBytes);
  return state.getIntrusivePtr();
}

void @{ cookiecutter.class_name }@Generator::set_state(const c10::TensorImpl& state) {
  at::detail::check_rng_state(state);
  TORCH_CHECK(state.numel() == kStateBytes, "RNG state is wrong size: expected ", kStateBytes, " bytes, got ",
              state.numel());
  uint64_t words[2];
  std::memcpy(words, state.data(), kStateBytes);
  seed_ = words[0];
  offset_ = words[1];
}

RandomPosition @{ cookiecutter.class_name }@Generator::advance(uint64_t count) {
  const RandomPosition position{seed_, offset_};
  offset_ += count;
  return position;
}

@{ cookiecutter.class_name }@Generator* @{ cookiecutter.class_name }@Generator::clone_impl() const {
  auto* copy = new @{ cookiecutter.class_name }@Generator(device().index());
  copy->seed_ = seed_;
  copy->offset_ = offset_;
  return copy;
}

at::Generator new_generator(c10::DeviceIndex device) {
  return at::make_generator<@{ cookiecutter.class_name }@Generator>(resolve_device(device));
}

const at::Generator& default_generator(c10::DeviceIndex device) {
  static auto& generators = *[] {
    auto* all = new std::deque<at::Generator>();
    for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
      all->push_back(new_generator(index));
    }
    return all;
  }();
  return generators.at(resolve_device(device));
}

RandomPosition draw(const std::optional<at::Generator>& generator, c10::DeviceIndex device, uint64_t count) {
  at::Generator source = generator.has_value() && generator->defined() ? *generator : default_generator(device);
  TORCH_CHECK(source.device().type() == kDeviceType, "Expected a '@{ cookiecutter.device }@' device type for generator but found '",
              source.device().type(), "'");
  const std::lock_guard<std::mutex> lock(source.mutex());
  return source.get<@{ cookiecutter.class_name }@Generator>()->advance(count);
}

} // namespace @{ cookiecutter.package }@
