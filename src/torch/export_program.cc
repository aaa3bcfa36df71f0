// SPDX-License-Identifier: Apache-2.0
#include "torch/export_program.h"

#include <vector>

#include "base/checked.h"
#include "wire/json.h"

namespace wick::torch {
namespace {

// Follows the keys from the top down, by depth: nothing of the graph is kept.
class ProgramEvents final : public wire::JsonEvents {
 public:
  explicit ProgramEvents(ExportedProgram& program) : program_(program) {}

  bool on_null() override { return true; }
  bool on_bool(bool value) override {
    if (in_buffer() && key() == "persistent") persistent_ = value;
    return true;
  }
  bool on_int(std::int64_t value) override { return number(value); }
  bool on_uint(std::uint64_t value) override {
    return std::in_range<std::int64_t>(value) ? number(static_cast<std::int64_t>(value)) : true;
  }
  bool on_float(double, std::string_view) override { return true; }
  bool on_string(std::string& value) override {
    if (keys_.size() == 1 && key() == "torch_version")
      program_.torch_version = std::move(value);
    else if (in_buffer() && key() == "buffer_name")
      buffer_ = std::move(value);
    return true;
  }
  bool on_key(std::string& value) override {
    keys_.back() = std::move(value);
    return true;
  }
  bool on_object(bool begin) override {
    if (begin) {
      keys_.emplace_back();
      if (in_buffer()) {
        buffer_.clear();
        persistent_ = true;
      }
      return true;
    }
    if (in_buffer() && !persistent_) program_.non_persistent.insert(buffer_);
    keys_.pop_back();
    return true;
  }
  bool on_array(bool begin) override {
    if (begin)
      keys_.emplace_back();
    else
      keys_.pop_back();
    return true;
  }

 private:
  [[nodiscard]] std::string_view key() const {
    return keys_.empty() ? std::string_view() : std::string_view(keys_.back());
  }
  // graph_module.signature.input_specs[i].buffer.{arg, buffer_name, persistent}: a list's own level has an empty key.
  [[nodiscard]] bool in_buffer() const {
    return keys_.size() == 6 && keys_[4] == "buffer" && keys_[2] == "input_specs" && keys_[1] == "signature" &&
           keys_[0] == "graph_module";
  }
  bool number(std::int64_t value) {
    if (keys_.size() == 2 && keys_[0] == "schema_version") {
      if (key() == "major") program_.schema_major = value;
      if (key() == "minor") program_.schema_minor = value;
    }
    return true;
  }

  ExportedProgram& program_;
  std::vector<std::string> keys_;  // the key under which each open object or list goes on
  std::string buffer_;
  bool persistent_ = true;
};

}  // namespace

Result<ExportedProgram> read_exported_program(std::string_view text) {
  ExportedProgram program;
  ProgramEvents events(program);
  WICK_CHECK(wire::read_json(text, events));
  return program;
}

}  // namespace wick::torch
