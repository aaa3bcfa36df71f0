// SPDX-License-Identifier: Apache-2.0
// Ways to find an element type that only readers need. The public part is include/wick/dtype.h.
#pragma once

#include <span>

#include "wick/dtype.h"

namespace wick::tensor {

// By the class name of a storage in a pickle ("FloatStorage"); the module does not matter to torch.
std::optional<DType> find_by_storage_class(std::string_view name);
// By c10::ScalarType code (TorchScript source, flatbuffers).
std::optional<DType> find_by_scalar_type(int code);
// By the code of torch.export's JSON, which is shifted and has its own tail (docs/formats/pt2.md).
std::optional<DType> find_by_export_code(int code);
std::optional<DType> find_by_safetensors(std::string_view name);
std::optional<DType> find_by_ggml_type(int id);

// Every row, in table order.
std::span<const DTypeFacts> all_dtypes();

}  // namespace wick::tensor
