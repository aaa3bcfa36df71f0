// SPDX-License-Identifier: Apache-2.0
// numpy.dtype objects of a pickle. Form: numpy's arraydescr_reduce (descriptor.c); docs/formats/pickle.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/contents.h"

namespace wick::python {

struct NumpyType {
  char kind = 'V';  // numpy's letter: b i u f c S U V O M m, T for StringDType
  std::uint64_t item_bytes = 0;
  bool big_endian = false;
  DType dtype = DType::NumpyOther;  // when torch has the type too
  std::string spelling;             // as dtype.descr: "<f4", "|S5", "<M8[ns]", "[('a', '<i4')]"
  std::string unit;                 // of M and m: "ns"; empty when generic
  std::int64_t unit_count = 1;
  pickle::Value names;   // of a structure: tuple of str
  pickle::Value fields;  // dict: name -> (dtype, offset[, title])
};

// What a dtype object says; nothing when `value` is none that numpy writes.
std::optional<NumpyType> read_dtype(const checkpoint::Contents& contents, pickle::Value value);

// numpy's repr: "dtype('float32')", "dtype([('a', '<i4')])".
std::string dtype_text(const NumpyType& type);

// The element in `bytes` (item_bytes of them) as a value: a bool, number, str, bytes or, for times, its text as repr
// prints it in `shown`. Missing when it is none of these (structures, long doubles).
pickle::Value read_element(pickle::Arena& arena, const NumpyType& type, std::string_view bytes, std::string& shown);

}  // namespace wick::python
