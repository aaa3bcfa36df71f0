// SPDX-License-Identifier: Apache-2.0
#include "wire/json.h"

#include <gtest/gtest.h>

namespace wick::wire {
namespace {

TEST(Json, keeps_every_kind_of_value) {
  const auto json =
      parse_json(R"({"n":null,"t":true,"i":-5,"u":18446744073709551615,"f":2.5,"s":"h\u00e9","a":[1,2]})");
  ASSERT_TRUE(json.ok());
  ASSERT_EQ(json->members.size(), 7U);
  EXPECT_EQ(json->find("n")->type, Json::Type::Null);
  EXPECT_TRUE(json->find("t")->boolean);
  EXPECT_EQ(json->find("i")->as_int(), -5);
  EXPECT_EQ(json->find("u")->natural, 18446744073709551615U);
  EXPECT_FALSE(json->find("u")->as_int().has_value());
  EXPECT_EQ(json->find("f")->real, 2.5);
  EXPECT_FALSE(json->find("f")->as_int().has_value());
  EXPECT_EQ(json->find("s")->as_string(), "h\xC3\xA9");
  ASSERT_EQ(json->find("a")->items.size(), 2U);
  EXPECT_EQ(json->find("a")->items[1].as_int(), 2);
  EXPECT_EQ(json->find("absent"), nullptr);
}

TEST(Json, keeps_order_and_duplicates_and_finds_the_last) {
  const auto json = parse_json(R"({"b":1,"a":2,"b":3})");
  ASSERT_EQ(json->members.size(), 3U);
  EXPECT_EQ(json->members[0].first, "b");
  EXPECT_EQ(json->members[1].first, "a");
  EXPECT_EQ(json->find("b")->as_int(), 3);
}

TEST(Json, keeps_nested_containers_apart) {
  const auto json = parse_json(R"([{"k":[{}]},[],{"k":"v"}])");
  ASSERT_EQ(json->items.size(), 3U);
  EXPECT_EQ(json->items[0].find("k")->items[0].type, Json::Type::Object);
  EXPECT_EQ(json->items[2].find("k")->as_string(), "v");
}

TEST(Json, tells_where_it_stops_being_json) {
  const auto json = parse_json(R"({"a": tru})");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().code(), ErrorCode::Malformed);
  EXPECT_EQ(json.error().offset(), 9U);  // the '}' where an 'e' should be
}

TEST(Json, refuses_every_prefix_and_bytes_behind) {
  const std::string whole = R"({"weight_map":{"a":"x.bin","b":[1.5e3,null]}})";
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse_json(std::string_view(whole).substr(0, length)).ok()) << length;
  EXPECT_TRUE(parse_json(whole).ok());
  EXPECT_TRUE(parse_json(whole + " \n").ok());
  EXPECT_FALSE(parse_json(whole + "x").ok());
}

TEST(Json, refuses_what_json_does_not_know) {
  EXPECT_FALSE(parse_json("NaN").ok());
  EXPECT_FALSE(parse_json("'a'").ok());
  EXPECT_FALSE(parse_json("[1,]").ok());
  EXPECT_FALSE(parse_json("\"\xFF\"").ok());
  EXPECT_FALSE(parse_json("1e999").ok());
  EXPECT_FALSE(parse_json("").ok());
}

TEST(Json, bounds_depth_and_values) {
  const auto nest = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nest(256)).ok());
  EXPECT_EQ(parse_json(nest(257)).error().code(), ErrorCode::Limit);
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')).error().code(), ErrorCode::Limit);
  EXPECT_TRUE(parse_json("[1,2]", 3).ok());
  EXPECT_EQ(parse_json("[1,2]", 2).error().code(), ErrorCode::Limit);
}

// Counts keys, and stops at the one it is told.
class KeyCounter final : public JsonEvents {
 public:
  explicit KeyCounter(std::string stop) : stop_(std::move(stop)) {}
  bool on_null() override { return true; }
  bool on_bool(bool /*value*/) override { return true; }
  bool on_int(std::int64_t /*value*/) override { return true; }
  bool on_uint(std::uint64_t /*value*/) override { return true; }
  bool on_float(double /*value*/, std::string_view text) override {
    last_float = text;
    return true;
  }
  bool on_string(std::string& /*value*/) override { return true; }
  bool on_key(std::string& value) override {
    ++keys;
    return value != stop_;
  }
  bool on_object(bool /*begin*/) override { return true; }
  bool on_array(bool /*begin*/) override { return true; }
  int keys = 0;
  std::string last_float;

 private:
  std::string stop_;
};

TEST(Json, hands_out_events_and_may_be_stopped) {
  KeyCounter all("");
  EXPECT_TRUE(read_json(R"({"a":{"b":1.50},"c":2,"a":3})", all).ok());
  EXPECT_EQ(all.keys, 4);
  EXPECT_EQ(all.last_float, "1.50");
  KeyCounter some("b");
  EXPECT_TRUE(read_json(R"({"a":{"b":1}, this is never reached)", some).ok());
  EXPECT_EQ(some.keys, 2);
}

}  // namespace
}  // namespace wick::wire
