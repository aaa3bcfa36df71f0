// SPDX-License-Identifier: Apache-2.0
// numpy's datetime64 and timedelta64 as numpy prints them. Rules: numpy/_core/src/multiarray/datetime.c.
#pragma once

#include <cstdint>
#include <string>

#include "python/numpy_dtype.h"

namespace wick::python {

// "np.datetime64('2024-05-01T12:00:00')", "np.timedelta64(5,'D')"; empty for a unit nobody knows.
std::string numpy_time_text(const NumpyType& type, std::int64_t value);

}  // namespace wick::python
