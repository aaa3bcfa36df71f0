// SPDX-License-Identifier: Apache-2.0
// A small tensor as Python prints it: "tensor([1., 2.])". Source of truth: torch/_tensor_str.py of torch 2.13 with its
// default options (precision 4, 80 columns).
#pragma once

#include <optional>
#include <string>

#include "checkpoint/contents.h"

namespace wick::torch {

// What str(tensor) gives. nullopt for what this does not print (more than 1000 elements, other dtypes than float32,
// float64, integers, bool and quantized 8-bit ones, elements that can not be read).
std::optional<std::string> tensor_text(const checkpoint::Contents& contents, std::uint32_t tensor);

// qscheme() of a quantized tensor: the pickle says per_channel_affine of float zero points too, torch then shows
// per_channel_affine_float_qparams.
std::string scheme_text(const checkpoint::Contents& contents, std::uint32_t tensor);

// What str(tensor.item()) gives for a tensor without dimensions; nullopt likewise.
std::optional<std::string> item_text(const checkpoint::Contents& contents, std::uint32_t tensor);

}  // namespace wick::torch
