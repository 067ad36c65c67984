// Random numbers: a counter-based generator per device.
#pragma once

#include <ATen/core/Generator.h>

namespace @{ cookiecutter.package }@ {

// Where the next random operator draws from: `seed` is the key, `offset` the counter.
struct RandomPosition {
  uint64_t seed;
  uint64_t offset;
};

class @{ cookiecutter.class_name }@Generator final : public c10::GeneratorImpl {
 public:
  explicit @{ cookiecutter.class_name }@Generator(c10::DeviceIndex device);

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  // Hands out `count` counter values and moves past them; the caller holds mutex_.
  RandomPosition advance(uint64_t count);

 private:
  @{ cookiecutter.class_name }@Generator* clone_impl() const override;

  uint64_t seed_ = c10::default_rng_seed_val;
  uint64_t offset_ = 0;
};

const at::Generator& default_generator(c10::DeviceIndex device);
at::Generator new_generator(c10::DeviceIndex device);
// The position for an operator that got `generator`, or none: then the device's own generator. Takes the lock.
RandomPosition draw(const std::optional<at::Generator>& generator, c10::DeviceIndex device, uint64_t count);

} // namespace @{ cookiecutter.package }@
