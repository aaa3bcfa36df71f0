// SPDX-License-Identifier: Apache-2.0
#include "pickle/machine.h"

#include <gtest/gtest.h>

#include <string>

#include "base/cursor.h"

namespace wick::pickle {
namespace {

using namespace std::string_literals;

struct Read {
  Arena arena;
  Result<Pickle> pickle = Error(ErrorCode::Bug, "not read");
  explicit Read(const std::string& bytes, const Limits& limits = {}, std::uint64_t base = 0) {
    pickle = read_pickle(as_bytes_of(bytes), base, arena, limits);
  }
  Value root() const { return pickle ? pickle->root : Value(); }
  ErrorCode code() const { return pickle.error().code(); }
};

TEST(PickleMachine, reads_numbers_of_every_width) {
  Read read("(I5\nK\xffM\x01\x02J\xff\xff\xff\xffL-7L\n\x8a\x02\x00\x80I01\nF0.5\nG?\xe0\0\0\0\0\0\0t."s);
  const auto items = read.arena.items(read.root());
  ASSERT_EQ(items.size(), 9U);
  EXPECT_EQ(Arena::as_int(items[0]), 5);
  EXPECT_EQ(Arena::as_int(items[1]), 255);
  EXPECT_EQ(Arena::as_int(items[2]), 513);
  EXPECT_EQ(Arena::as_int(items[3]), -1);
  EXPECT_EQ(Arena::as_int(items[4]), -7);
  EXPECT_EQ(Arena::as_int(items[5]), -32768);
  EXPECT_EQ(items[6], Arena::boolean(true));
  EXPECT_EQ(read.arena.as_real(items[7]), 0.5);
  EXPECT_EQ(read.arena.as_real(items[8]), 0.5);
}

TEST(PickleMachine, keeps_big_integers_exact) {
  Read read("\x8a\x09\0\0\0\0\0\0\0\0\x01."s);
  ASSERT_EQ(read.root().kind(), Kind::BigInt);
  EXPECT_EQ(read.arena.as_text(read.root()), "\0\0\0\0\0\0\0\0\x01"s);
  Read line("L18446744073709551616L\n."s);
  EXPECT_EQ(line.arena.as_text(line.root()), "\0\0\0\0\0\0\0\0\x01"s);
  Read edge("L-9223372036854775808L\n."s);
  EXPECT_EQ(edge.arena.as_text(edge.root()), "\0\0\0\0\0\0\0\x80"s);
}

TEST(PickleMachine, shares_what_the_memo_names) {
  Read read("]q\0h\0a."s);
  ASSERT_EQ(read.root().kind(), Kind::List);
  EXPECT_EQ(read.arena.items(read.root())[0], read.root());
}

TEST(PickleMachine, resolves_the_escapes_of_python_2_strings) {
  Read read("S'a\\n\\x41\\101\\q'\n."s);
  EXPECT_EQ(read.root().kind(), Kind::Py2Str);
  EXPECT_EQ(read.arena.as_text(read.root()), "a\nAA\\q");
  EXPECT_TRUE(read.pickle->python2);
}

TEST(PickleMachine, keeps_lone_surrogates) {
  Read read("Va\\ud800\xe9\n."s);
  EXPECT_EQ(read.arena.as_text(read.root()), "a\xed\xa0\x80\xc3\xa9");
}

TEST(PickleMachine, never_calls_what_a_pickle_names) {
  Read read("cos\nsystem\n(S'true'\ntR."s);
  ASSERT_EQ(read.root().kind(), Kind::Object);
  const Object& object = read.arena.object(read.root());
  EXPECT_EQ(object.made, Made::Reduce);
  EXPECT_TRUE(read.arena.is_global(object.callable, "os", "system"));
  EXPECT_EQ(read.pickle->globals.size(), 1U);
}

TEST(PickleMachine, keeps_states_items_and_pairs_of_objects) {
  Read read(
      "cm\nC\n)\x81(K\x01K\x02"
      "eK\x03K\x04s}b."s);
  ASSERT_EQ(read.root().kind(), Kind::Object);
  EXPECT_EQ(read.arena.items(read.root()).size(), 2U);
  EXPECT_EQ(read.arena.pairs(read.root()).size(), 2U);
  EXPECT_EQ(read.arena.state(read.root()).kind(), Kind::Dict);
}

TEST(PickleMachine, keeps_the_state_of_a_persistent_id_and_of_a_global) {
  Read read("(Pone\n}bcm\nC\nK\x01\x62t."s);
  ASSERT_TRUE(read.pickle) << read.pickle.error().to_string();
  const auto items = read.arena.items(read.root());
  EXPECT_EQ(read.arena.state(items[0]).kind(), Kind::Dict);
  EXPECT_EQ(Arena::as_int(read.arena.state(items[1])), 1);
  EXPECT_EQ(read.pickle->persistent_ids.size(), 1U);
}

TEST(PickleMachine, a_key_keeps_its_first_place_and_its_last_value) {
  Read read("}(K\x01K\x0aK\x02K\x0bG?\xf0\0\0\0\0\0\0K\x0c\x88K\x0du."s);
  EXPECT_EQ(read.arena.drop_duplicate_keys(), 2U);
  const auto pairs = read.arena.pairs(read.root());
  ASSERT_EQ(pairs.size(), 4U);
  EXPECT_EQ(Arena::as_int(pairs[0]), 1);
  EXPECT_EQ(Arena::as_int(pairs[1]), 13);
  EXPECT_EQ(Arena::as_int(pairs[3]), 11);
}

TEST(PickleMachine, refuses_with_the_offset_of_the_opcode) {
  Read read("N0."s, {}, 1000);
  ASSERT_FALSE(read.pickle);
  EXPECT_EQ(read.code(), ErrorCode::Malformed);
  EXPECT_EQ(read.pickle.error().offset(), 1002U);
  Read cut("X\x05\0\0\0ab"s, {}, 1000);
  EXPECT_EQ(cut.code(), ErrorCode::Truncated);
  EXPECT_EQ(cut.pickle.error().offset(), 1000U);
}

TEST(PickleMachine, refuses_what_breaks_the_stack) {
  for (const std::string& bytes :
       {"."s,     "(."s,      "0."s,      "2."s,      "a."s,    "Na."s,     "NNa."s,      "t."s,      "e."s,
        "(e."s,   "N(Ne."s,   "(Nd."s,    "}(Nu."s,   "s."s,    "R."s,      "NR."s,       "b."s,      "NNb."s,
        "Nh\1."s, "q\0."s,    "o."s,      "(o."s,     "\x81."s, "NN\x81."s, "\x93."s,     "NN\x93."s, "Q."s,
        "\x98."s, "\x82\0."s, "c\nx\n."s, "cx\n\n."s, "Ix\n."s, "S'a\n."s,  "F1e999\n."s, "\xff."s,   "(K\1l)K\1u."s}) {
    Read read(bytes);
    ASSERT_FALSE(read.pickle) << testing::PrintToString(bytes);
    EXPECT_EQ(read.code(), ErrorCode::Malformed) << testing::PrintToString(bytes);
  }
}

TEST(PickleMachine, a_mark_can_not_be_popped_by_what_lies_above_it) {
  Read read("NN(\x86."s);
  EXPECT_EQ(read.code(), ErrorCode::Malformed);
  Read popped("N(0."s);
  ASSERT_TRUE(popped.pickle);
  EXPECT_EQ(popped.root(), Arena::none());
}

TEST(PickleMachine, memo_slots_may_be_sparse_but_not_above_the_limit) {
  Read sparse(
      "Nr\xff\xe0\xf5\x05"
      "0j\xff\xe0\xf5\x05."s);
  ASSERT_TRUE(sparse.pickle);
  EXPECT_LT(sparse.arena.bytes_held(), 1U << 20);
  Read bomb("Nr\xff\xff\xff\xff."s);
  EXPECT_EQ(bomb.code(), ErrorCode::Limit);
}

TEST(PickleMachine, memoize_counts_the_distinct_slots) {
  Read read(
      "Nq\x05Nq\x05K\x01\x94"
      "00h\x01."s);
  ASSERT_TRUE(read.pickle) << read.pickle.error().to_string();
  EXPECT_EQ(Arena::as_int(read.root()), 1);
}

TEST(PickleMachine, limits_stop_what_only_costs_time_and_memory) {
  Limits limits;
  limits.max_opcodes = 1000;
  EXPECT_EQ(Read(std::string(5000, 'N') + ".", limits).code(), ErrorCode::Limit);
  limits = {};
  limits.max_memory = 1 << 20;
  EXPECT_EQ(Read(std::string(1'000'000, ']') + ".", limits).code(), ErrorCode::Limit);
  EXPECT_EQ(Read(std::string(1'000'000, '(') + ".", limits).code(), ErrorCode::Limit);
}

TEST(PickleMachine, reads_on_where_a_window_ended) {
  std::string bytes = "\x80\x02(";
  for (int i = 0; i < 20'000; ++i) bytes += "X\x08\0\0\0abcdefgh"s;
  bytes += "B\0\0\x20\0"s + std::string(0x200000, 'x') + "t.trailing";
  const auto source = from_memory({as_bytes_of(bytes).begin(), as_bytes_of(bytes).end()});
  Arena arena;
  auto pickle = read_pickle_at(*source, 0, arena, {});
  ASSERT_TRUE(pickle) << pickle.error().to_string();
  EXPECT_EQ(pickle->end, bytes.size() - 8);
  const auto items = arena.items(pickle->root);
  ASSERT_EQ(items.size(), 20'001U);
  EXPECT_EQ(arena.as_text(items[19'999]), "abcdefgh");
  EXPECT_EQ(arena.as_text(items[20'000]), std::string(0x200000, 'x'));
}

}  // namespace
}  // namespace wick::pickle
