// SPDX-License-Identifier: Apache-2.0
// The vtable slots of the lite interpreter's flatbuffer: 4 + 2 * field id, in the order of torch's
// csrc/jit/serialization/mobile_bytecode.fbs. docs/formats/torch-mobile-flatbuffer.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace wick::torch::ptmf {

inline constexpr std::string_view kIdentifier = "PTMF";  // bytes 4 to 7

namespace module {
inline constexpr std::uint16_t kBytecodeVersion = 4;
inline constexpr std::uint16_t kExtraFiles = 6;
inline constexpr std::uint16_t kMethods = 8;
inline constexpr std::uint16_t kStateObject = 10;
inline constexpr std::uint16_t kValues = 12;
inline constexpr std::uint16_t kStorageCount = 14;
inline constexpr std::uint16_t kStorages = 16;
inline constexpr std::uint16_t kObjectTypes = 18;
inline constexpr std::uint16_t kSources = 20;
inline constexpr std::uint16_t kConstants = 22;
inline constexpr std::uint16_t kOperatorVersion = 24;
}  // namespace module

namespace tensor {
inline constexpr std::uint16_t kStorage = 4;
inline constexpr std::uint16_t kScalarType = 6;
inline constexpr std::uint16_t kOffset = 8;
inline constexpr std::uint16_t kSizes = 10;
inline constexpr std::uint16_t kStrides = 12;
inline constexpr std::uint16_t kRequiresGrad = 14;
inline constexpr std::uint16_t kQuantized = 16;
}  // namespace tensor

namespace quantized {
inline constexpr std::uint16_t kScheme = 4;
inline constexpr std::uint16_t kScale = 6;
inline constexpr std::uint16_t kZeroPoint = 8;
inline constexpr std::uint16_t kScales = 10;
inline constexpr std::uint16_t kZeroPoints = 12;
inline constexpr std::uint16_t kAxis = 14;
}  // namespace quantized

namespace object {
inline constexpr std::uint16_t kType = 4;
inline constexpr std::uint16_t kState = 6;
inline constexpr std::uint16_t kAttributes = 8;
}  // namespace object

namespace object_type {
inline constexpr std::uint16_t kName = 4;
inline constexpr std::uint16_t kKind = 6;
inline constexpr std::uint16_t kAttributeNames = 8;
inline constexpr std::uint8_t kClassWithFields = 1;
}  // namespace object_type

namespace function {
inline constexpr std::uint16_t kName = 4;
inline constexpr std::uint16_t kConstants = 10;
}  // namespace function

// Tables of one, two or three fields share these slots: String, Device, List, Tuple, IntList, DoubleList, BoolList
// (first), Dict (keys, values), EnumValue (type name, value), ExtraFile (name, content), IValue (type, value).
inline constexpr std::uint16_t kFirst = 4;
inline constexpr std::uint16_t kSecond = 6;

// IValueUnion.
enum class Tag : std::uint8_t {
  None,
  Int,
  Bool,
  Double,
  ComplexDouble,
  Tensor,
  String,
  List,
  Tuple,
  Dict,
  Object,
  IntList,
  DoubleList,
  BoolList,
  Device,
  Enum,
  Function
};

}  // namespace wick::torch::ptmf
