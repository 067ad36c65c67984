// @{ cookiecutter.package }@._C: the few functions that Python needs and torch.accelerator doesn't offer.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>

#include "aten/fallback_counts.h"
#include "runtime/device.h"
#include "runtime/generator.h"

namespace py = pybind11;

namespace {

py::dict properties(c10::DeviceIndex device) {
  @{ cookiecutter.device }@DeviceProperties found{};
  @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@GetDeviceProperties(@{ cookiecutter.package }@::resolve_device(device), &found));
  py::dict result;
  result["name"] = found.name;
  result["simulated"] = found.simulated != 0;
  result["total_memory"] = found.total_memory;
  return result;
}

py::dict driver_counters() {
  @{ cookiecutter.device }@Counters found{};
  @{ cookiecutter.DEVICE }@_CHECK(@{ cookiecutter.device }@GetCounters(&found));
  py::dict result;
  result["launches"] = found.launches;
  result["host_to_device_copies"] = found.host_to_device_copies;
  result["device_to_host_copies"] = found.device_to_host_copies;
  result["device_to_device_copies"] = found.device_to_device_copies;
  result["host_to_device_bytes"] = found.host_to_device_bytes;
  result["device_to_host_bytes"] = found.device_to_host_bytes;
  return result;
}

// torch.Generator objects are made by PyTorch; pybind11 only passes the reference on.
py::object default_generator(c10::DeviceIndex device) {
  return py::reinterpret_steal<py::object>(THPGenerator_Wrap(@{ cookiecutter.package }@::default_generator(device)));
}

} // namespace

PYBIND11_MODULE(_C, module) {
  module.def("init", &@{ cookiecutter.package }@::ensure_initialized);
  module.def("is_initialized", &@{ cookiecutter.package }@::is_initialized);
  module.def("is_forked", [] { return @{ cookiecutter.device }@IsForked() != 0; });
  module.def("device_count", [] { return static_cast<int>(@{ cookiecutter.package }@::device_count()); });
  module.def("properties", &properties);
  module.def("default_generator", &default_generator);
  module.def("driver_counters", &driver_counters);
  module.def("is_fallback_enabled", &@{ cookiecutter.package }@::is_fallback_enabled);
  module.def("fallback_counts", &@{ cookiecutter.package }@::fallback_counts);
  module.def("reset_fallback_counts", &@{ cookiecutter.package }@::reset_fallback_counts);
}
