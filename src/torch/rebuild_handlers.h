// SPDX-License-Identifier: Apache-2.0
// The handlers that globals.def names. Each is described there and in docs/formats/tensors.md by the form it reads.
#pragma once

#include "torch/rebuild.h"

namespace wick::torch {

// rebuild_dense.cc
bool rebuild_tensor(Walk& walk, pickle::Value object, Arguments args);
bool rebuild_tensor_v2(Walk& walk, pickle::Value object, Arguments args);
bool rebuild_tensor_v3(Walk& walk, pickle::Value object, Arguments args);
bool rebuild_meta_tensor(Walk& walk, pickle::Value object, Arguments args);
bool legacy_tensor(Walk& walk, pickle::Value object, Arguments args);
// rebuild_quantized.cc
bool rebuild_qtensor(Walk& walk, pickle::Value object, Arguments args);
bool script_object(Walk& walk, pickle::Value object, Arguments args);
bool packed_parameters(Walk& walk, pickle::Value object, Arguments args);
// rebuild_sparse.cc
bool rebuild_sparse_tensor(Walk& walk, pickle::Value object, Arguments args);
bool legacy_sparse_tensor(Walk& walk, pickle::Value object, Arguments args);
bool rebuild_nested_tensor(Walk& walk, pickle::Value object, Arguments args);
bool rebuild_njt(Walk& walk, pickle::Value object, Arguments args);
// rebuild_wrapped.cc
bool rebuild_parameter(Walk& walk, pickle::Value object, Arguments args);
bool rebuild_from_type(Walk& walk, pickle::Value object, Arguments args);
bool rebuild_wrapper_subclass(Walk& walk, pickle::Value object, Arguments args);
bool rebuild_device_tensor(Walk& walk, pickle::Value object, Arguments args);
bool old_parameter(Walk& walk, pickle::Value object, Arguments args);
bool uninitialized(Walk& walk, pickle::Value object, Arguments args);
// rebuild_values.cc
bool storage_from_list(Walk& walk, pickle::Value object, Arguments args);
bool load_from_bytes(Walk& walk, pickle::Value object, Arguments args);
bool size_value(Walk& walk, pickle::Value object, Arguments args);
bool device_value(Walk& walk, pickle::Value object, Arguments args);
bool info_value(Walk& walk, pickle::Value object, Arguments args);
bool layout_value(Walk& walk, pickle::Value object, Arguments args);
bool attribute_value(Walk& walk, pickle::Value object, Arguments args);
bool ordered_dict(Walk& walk, pickle::Value object, Arguments args);
bool first_argument(Walk& walk, pickle::Value object, Arguments args);

}  // namespace wick::torch
