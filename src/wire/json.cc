// SPDX-License-Identifier: Apache-2.0
// RFC 8259 by nlohmann's SAX reader, which keeps its own stack: depth costs no machine stack, and is bounded here.
#include "wire/json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/try.h"

namespace wick::wire {
namespace {

constexpr std::uint32_t kMaxDepth = 256;  // no config is deeper; freeing a tree recurses as deep as it is

// Passes nlohmann's events on, and remembers why it stopped.
class Relay final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Relay(JsonEvents& events) : events_(events) {}

  bool null() override { return events_.on_null(); }
  bool boolean(bool value) override { return events_.on_bool(value); }
  bool number_integer(number_integer_t value) override { return events_.on_int(value); }
  bool number_unsigned(number_unsigned_t value) override { return events_.on_uint(value); }
  bool number_float(number_float_t value, const string_t& text) override { return events_.on_float(value, text); }
  bool string(string_t& value) override { return events_.on_string(value); }
  bool binary(binary_t& /*value*/) override { return false; }  // of the binary formats only
  bool key(string_t& value) override { return events_.on_key(value); }
  bool start_object(std::size_t /*count*/) override { return enter() && events_.on_object(true); }
  bool end_object() override {
    --depth_;
    return events_.on_object(false);
  }
  bool start_array(std::size_t /*count*/) override { return enter() && events_.on_array(true); }
  bool end_array() override {
    --depth_;
    return events_.on_array(false);
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& problem) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ...": what follows the
    // place
    std::string_view text = problem.what();
    if (const std::size_t place = text.find(": "); place != std::string_view::npos) text.remove_prefix(place + 2);
    const std::uint64_t offset = position == 0 ? 0 : position - 1;  // it counts the characters read
    error_ = fail_at(ErrorCode::Malformed, offset, "no valid JSON: {}", text);
    return false;
  }

  [[nodiscard]] std::optional<Error>& error() { return error_; }

 private:
  bool enter() {
    if (++depth_ <= kMaxDepth) return true;
    error_ = fail(ErrorCode::Limit, "JSON nested deeper than {}", kMaxDepth);
    return false;
  }

  JsonEvents& events_;
  std::optional<Error> error_;
  std::uint32_t depth_ = 0;
};

// Builds the tree. Open containers wait on a stack of their own and move into their parent when they close.
class TreeBuilder final : public JsonEvents {
 public:
  explicit TreeBuilder(std::uint64_t max_values) : left_(max_values) {}

  bool on_null() override { return put(Json()); }
  bool on_bool(bool value) override {
    Json json;
    json.type = Json::Type::Bool;
    json.boolean = value;
    return put(std::move(json));
  }
  bool on_int(std::int64_t value) override {
    Json json;
    json.type = Json::Type::Int;
    json.integer = value;
    json.real = static_cast<double>(value);
    return put(std::move(json));
  }
  bool on_uint(std::uint64_t value) override {
    Json json;
    json.type = Json::Type::Uint;
    json.natural = value;
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      json.integer = static_cast<std::int64_t>(value);
    json.real = static_cast<double>(value);
    return put(std::move(json));
  }
  bool on_float(double value, std::string_view /*text*/) override {
    Json json;
    json.type = Json::Type::Float;
    json.real = value;
    return put(std::move(json));
  }
  bool on_string(std::string& value) override {
    Json json;
    json.type = Json::Type::String;
    json.string = std::move(value);
    return put(std::move(json));
  }
  bool on_key(std::string& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool on_object(bool begin) override { return begin ? start(Json::Type::Object) : finish(); }
  bool on_array(bool begin) override { return begin ? start(Json::Type::Array) : finish(); }

  [[nodiscard]] bool ran_out() const { return ran_out_; }
  Json take() { return std::move(root_); }

 private:
  struct Open {
    Json container;
    std::string key;  // of the member that comes next
  };

  bool start(Json::Type type) {
    open_.emplace_back();
    open_.back().container.type = type;
    return true;
  }
  bool finish() {
    Json done = std::move(open_.back().container);
    open_.pop_back();
    return put(std::move(done));
  }
  bool put(Json value) {
    if (left_ == 0) {
      ran_out_ = true;
      return false;
    }
    --left_;
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Open& parent = open_.back();
    if (parent.container.type == Json::Type::Array)
      parent.container.items.push_back(std::move(value));
    else
      parent.container.members.emplace_back(std::move(parent.key), std::move(value));
    return true;
  }

  std::uint64_t left_;
  bool ran_out_ = false;
  std::vector<Open> open_;
  Json root_;
};

}  // namespace

Json::Json() = default;
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

const Json* Json::find(std::string_view key) const {
  for (auto member = members.rbegin(); member != members.rend(); ++member)
    if (member->first == key) return &member->second;
  return nullptr;
}

std::optional<std::int64_t> Json::as_int() const {
  if (type == Type::Int) return integer;
  if (type == Type::Uint && natural == static_cast<std::uint64_t>(integer)) return integer;
  return std::nullopt;
}

std::optional<std::string_view> Json::as_string() const {
  if (type != Type::String) return std::nullopt;
  return std::string_view(string);
}

Result<void> read_json(std::string_view text, JsonEvents& events) {
  Relay relay(events);
  try {
    nlohmann::json::sax_parse(text.begin(), text.end(), &relay);
  } catch (const nlohmann::json::exception& problem) {
    return fail(ErrorCode::Malformed, "no valid JSON: {}", problem.what());
  }
  if (relay.error()) return *std::move(relay.error());
  return {};
}

Result<Json> parse_json(std::string_view text, std::uint64_t max_values) {
  TreeBuilder tree(max_values);
  WICK_CHECK(read_json(text, tree));
  if (tree.ran_out()) return fail(ErrorCode::Limit, "more than {} JSON values", max_values);
  return tree.take();
}

}  // namespace wick::wire
