// Pinned host memory.
#pragma once

#include <c10/core/Allocator.h>

namespace @{ cookiecutter.package }@ {

c10::Allocator* pinned_allocator();

} // namespace @{ cookiecutter.package }@
