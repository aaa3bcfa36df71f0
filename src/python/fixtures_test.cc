// SPDX-License-Identifier: Apache-2.0
// Every pickle of tests/fixtures/pickles.json against what CPython, pickletools and numpy say of it. Then all prefixes
// and all single-bit flips of them: whatever they do, they do it quickly and inside their bytes.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/cursor.h"
#include "base/text.h"
#include "checkpoint/read_tensor.h"
#include "pickle/disassemble.h"
#include "pickle/machine.h"
#include "python/meaning.h"
#include "python/repr.h"

namespace wick::python {
namespace {

using checkpoint::Contents;
using checkpoint::Meaning;
using nlohmann::json;
using namespace std::string_literals;

const json& fixtures() {
  static const json all = [] {
    const std::string here = __FILE__;
    std::ifstream file(here.substr(0, here.rfind("/src/")) + "/tests/fixtures/pickles.json");
    return json::parse(file).at("pickles");
  }();
  return all;
}

std::string from_base64(const std::string& text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    bits = bits << 6 | static_cast<unsigned>(kLetters.find(letter));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xFFU));
  }
  return out;
}

struct Read {
  Contents contents;
  Result<pickle::Pickle> pickle = Error(ErrorCode::Bug, "not read");

  explicit Read(const std::string& bytes) {
    pickle = pickle::read_pickle(as_bytes_of(bytes), 0, contents.arena, contents.limits);
    if (!pickle) return;
    contents.arena.drop_duplicate_keys();
    for (std::size_t i = 0; i < contents.arena.object_count(); ++i) give_meaning(contents, pickle::Arena::object_at(i));
  }
};

TEST(PickleFixtures, print_as_python_prints_them) {
  int checked = 0;
  for (const json& row : fixtures()) {
    if (!row.contains("repr")) continue;
    const Read read(from_base64(row.at("pickle")));
    ASSERT_TRUE(read.pickle) << row.at("name") << ": " << read.pickle.error().to_string();
    EXPECT_EQ(repr(read.contents, read.pickle->root), row.at("repr")) << row.at("name");
    ++checked;
  }
  EXPECT_GT(checked, 150);
}

TEST(PickleFixtures, disassemble_as_pickletools_does) {
  int checked = 0;
  for (const json& row : fixtures()) {
    if (row.at("dis").is_null()) continue;
    const std::string bytes = from_base64(row.at("pickle"));
    std::size_t at = 0;
    const auto used = pickle::disassemble(as_bytes_of(bytes), 0, {}, [&](const pickle::Instruction& instruction) {
      const json& expected = row.at("dis").at(at++);
      EXPECT_EQ(instruction.offset, expected.at(0)) << row.at("name");
      EXPECT_EQ(instruction.name, expected.at(1)) << row.at("name");
      EXPECT_EQ(instruction.has_argument, !expected.at(2).is_null()) << row.at("name");
      EXPECT_EQ(instruction.argument, expected.at(2).is_null() ? "" : expected.at(2)) << row.at("name");
      return true;
    });
    EXPECT_TRUE(used) << row.at("name");
    EXPECT_EQ(at, row.at("dis").size()) << row.at("name");
    ++checked;
  }
  EXPECT_GT(checked, 250);
}

void check_array(const json& row) {
  const Read read(from_base64(row.at("pickle")));
  ASSERT_TRUE(read.pickle) << read.pickle.error().to_string();
  const json& expected = row.at("array");
  const Meaning meaning = read.contents.meaning(read.pickle->root);
  ASSERT_EQ(meaning.what, Meaning::What::Array);
  const auto& tensor = read.contents.tensors[meaning.index];
  EXPECT_TRUE(tensor.is_array);
  EXPECT_EQ(name_of(tensor.dtype), expected.at("dtype"));
  if (tensor.dtype == DType::NumpyOther) {
    EXPECT_EQ(read.contents.find_more(meaning.index)->numpy_type, expected.at("spelling"));
  }
  const auto sizes = read.contents.sizes(tensor);
  const auto strides = read.contents.strides(tensor);
  EXPECT_EQ(std::vector(sizes.begin(), sizes.end()), expected.at("shape").get<std::vector<std::int64_t>>());
  if (!expected.at("strides").is_null()) {
    EXPECT_EQ(std::vector(strides.begin(), strides.end()), expected.at("strides").get<std::vector<std::int64_t>>());
  }
  const auto elements = checkpoint::read_elements(read.contents, meaning.index);
  ASSERT_TRUE(elements) << elements.error().to_string();
  EXPECT_EQ(as_text(*elements), from_base64(expected.at("elements")));
}

TEST(PickleFixtures, arrays_are_what_numpy_says) {
  int checked = 0;
  for (const json& row : fixtures()) {
    if (!row.contains("array")) continue;
    SCOPED_TRACE(row.at("name"));
    check_array(row);
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

// Everything one can do with a pickle, whatever is in it.
void use(const std::string& bytes) {
  const Read read(bytes);
  if (!read.pickle) return;
  EXPECT_LE(repr(read.contents, read.pickle->root).size(), 20'000U);
  Limits limits;
  limits.max_memory = 1 << 20;
  for (std::uint32_t i = 0; i < read.contents.tensors.size(); ++i)
    if (read.contents.tensor_bytes(read.contents.tensors[i]) <= limits.max_memory)
      (void)checkpoint::read_elements(read.contents, i);
  (void)pickle::disassemble(as_bytes_of(bytes), 0, limits, [](const pickle::Instruction&) { return true; });
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// A megabyte that is named a hundred thousand times: as a module, as a key, as the items of sets, as bytes, as a dtype.
TEST(PickleBombs, naming_something_large_again_and_again_costs_nothing) {
  const std::string big = "X\0\0\x10\0"s + std::string(1 << 20, 'x');
  const std::string list = "](" + repeated("N", 1 << 20) + "e";
  const std::string put0 = "q\0"s;
  const std::string put1 = "q\1"s;
  const std::string apply = repeated("h\0h\1R"s, 100'000) + "t.";
  const std::string bombs[] = {
      "(" + big + put0 + repeated("h\0h\0\x93"s, 100'000) + "t.",
      "}(" + big + put0 + "N" + repeated("h\0N"s, 100'000) + "u.",
      "}(" + big + put0 + "N" + big + put1 + "N" + repeated("h\1N"s, 100'000) + "u.",
      "(c__builtin__\nset\n" + put0 + list + "\x85" + put1 + apply,
      "(ccollections\ndeque\n" + put0 + list + "\x85" + put1 + apply,
      "(c_codecs\nencode\n" + put0 + big + "X\6\0\0\0latin1\x86"s + put1 + apply,
      "(cdecimal\nDecimal\n" + put0 + big + "\x85" + put1 + apply,
  };
  for (const std::string& bomb : bombs) {
    const auto begin = std::chrono::steady_clock::now();
    const Read read(bomb);
    EXPECT_TRUE(read.pickle) << read.pickle.error().to_string();
    EXPECT_LT(read.contents.arena.bytes_held(), 400U << 20);
    const auto spent = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(spent, std::chrono::seconds(10));  // without the guards: hours, or all memory
  }
}

TEST(PickleFixtures, every_prefix_is_refused) {
  for (const json& row : fixtures()) {
    const std::string bytes = from_base64(row.at("pickle"));
    if (bytes.size() > 1000 || row.at("name") == "trailing") continue;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const Read read(bytes.substr(0, length));
      ASSERT_FALSE(read.pickle) << row.at("name") << " cut to " << length;
      EXPECT_EQ(read.pickle.error().code(), ErrorCode::Truncated) << row.at("name") << " cut to " << length;
    }
  }
}

TEST(PickleFixtures, every_bit_flip_is_safe) {
  for (const json& row : fixtures()) {
    const std::string& name = row.at("name");
    const std::string bytes = from_base64(row.at("pickle"));
    // The other protocols differ from these by few opcodes.
    const bool other = name.find(".p1") != std::string::npos || name.find(".p3") != std::string::npos ||
                       name.find(".p4") != std::string::npos;
    if (bytes.size() > 200 || other) continue;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(static_cast<unsigned char>(flipped[bit / 8]) ^ 1U << bit % 8);
      use(flipped);
    }
  }
}

}  // namespace
}  // namespace wick::python
