// Device code: moves a row of elements from one dtype and stride to another. Every kernel reads and writes through it.
#pragma once

#include <c10/core/ScalarType.h>

namespace @{ cookiecutter.package }@ {

// Strides are in bytes and may be 0 (broadcast). Same dtype: bits are moved as they are, whatever the dtype.
void convert_row(void* dst, int64_t dst_stride, c10::ScalarType dst_dtype, const void* src, int64_t src_stride,
                 c10::ScalarType src_dtype, int64_t count);

// Whether convert_row can turn one into the other.
bool is_convertible(c10::ScalarType from, c10::ScalarType to);

} // namespace @{ cookiecutter.package }@
