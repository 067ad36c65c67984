// Device code: the conversion table, one loop for each pair of dtypes, with PyTorch's rounding and wrapping.
#include "kernels/convert.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Float8_e5m2fnuz.h>
#include <c10/util/Half.h>
#include <c10/util/TypeCast.h>
#include <c10/util/complex.h>

#include <cstring>

namespace @{ cookiecutter.package }@ {
namespace {

struct Row {
  char* dst;
  int64_t dst_stride;
  const char* src;
  int64_t src_stride;
  int64_t count;
};

template <typename Dst, typename Src>
void convert(const Row& row) {
  for (int64_t i = 0; i < row.count; ++i) {
    const Src value = *reinterpret_cast<const Src*>(row.src + i * row.src_stride);
    *reinterpret_cast<Dst*>(row.dst + i * row.dst_stride) = c10::convert<Dst, Src>(value);
  }
}

template <size_t bytes>
void move(const Row& row) {
  if (row.dst_stride == bytes && row.src_stride == bytes) {
    std::memcpy(row.dst, row.src, bytes * row.count);
    return;
  }
  for (int64_t i = 0; i < row.count; ++i) {
    std::memcpy(row.dst + i * row.dst_stride, row.src + i * row.src_stride, bytes);
  }
}

void move_any(const Row& row, size_t bytes) {
  switch (bytes) {
    case 1:
      return move<1>(row);
    case 2:
      return move<2>(row);
    case 4:
      return move<4>(row);
    case 8:
      return move<8>(row);
    default:
      return move<16>(row);
  }
}

#define @{ cookiecutter.DEVICE }@_FORALL_CONVERTIBLE(_)                                                                            \
  _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int32_t, Int) _(int64_t, Long) _(uint16_t, UInt16)    \
  _(uint32_t, UInt32) _(uint64_t, UInt64) _(bool, Bool) _(c10::Half, Half) _(c10::BFloat16, BFloat16)        \
  _(float, Float) _(double, Double) _(c10::complex<c10::Half>, ComplexHalf)                                  \
  _(c10::complex<float>, ComplexFloat) _(c10::complex<double>, ComplexDouble)                                \
  _(c10::Float8_e4m3fn, Float8_e4m3fn) _(c10::Float8_e5m2, Float8_e5m2)                                      \
  _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz) _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz)

template <typename Src>
void convert_from(const Row& row, c10::ScalarType dst_dtype) {
  switch (dst_dtype) {
#define @{ cookiecutter.DEVICE }@_TO(type, name)      \
  case c10::ScalarType::name: \
    return convert<type, Src>(row);
    @{ cookiecutter.DEVICE }@_FORALL_CONVERTIBLE(@{ cookiecutter.DEVICE }@_TO)
#undef @{ cookiecutter.DEVICE }@_TO
    default:
      return; // excluded by is_convertible before the launch
  }
}

bool is_known(c10::ScalarType dtype) {
  switch (dtype) {
#define @{ cookiecutter.DEVICE }@_KNOWN(type, name) case c10::ScalarType::name:
    @{ cookiecutter.DEVICE }@_FORALL_CONVERTIBLE(@{ cookiecutter.DEVICE }@_KNOWN)
#undef @{ cookiecutter.DEVICE }@_KNOWN
    return true;
    default:
      return false;
  }
}

} // namespace

void convert_row(void* dst, int64_t dst_stride, c10::ScalarType dst_dtype, const void* src, int64_t src_stride,
                 c10::ScalarType src_dtype, int64_t count) {
  const Row row{static_cast<char*>(dst), dst_stride, static_cast<const char*>(src), src_stride, count};
  if (dst_dtype == src_dtype) {
    return move_any(row, c10::elementSize(dst_dtype));
  }
  switch (src_dtype) {
#define @{ cookiecutter.DEVICE }@_FROM(type, name)      \
  case c10::ScalarType::name: \
    return convert_from<type>(row, dst_dtype);
    @{ cookiecutter.DEVICE }@_FORALL_CONVERTIBLE(@{ cookiecutter.DEVICE }@_FROM)
#undef @{ cookiecutter.DEVICE }@_FROM
    default:
      return;
  }
}

bool is_convertible(c10::ScalarType from, c10::ScalarType to) { return from == to || (is_known(from) && is_known(to)); }

} // namespace @{ cookiecutter.package }@
