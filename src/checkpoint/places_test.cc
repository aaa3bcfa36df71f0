// SPDX-License-Identifier: Apache-2.0
// The walk and its names on hand-made trees. Expected names: docs/names.md, and what lab-style walkers over torch.load
// give.
#include "checkpoint/places.h"

#include <gtest/gtest.h>

#include "checkpoint/key_text.h"

namespace wick::checkpoint {
namespace {

using pickle::Kind;
using pickle::Value;

// A tree under construction.
struct Tree {
  Contents contents;
  pickle::Arena& arena = contents.arena;

  Value str(std::string_view text) { return arena.text(Kind::Str, text); }
  Value integer(std::int64_t value) { return arena.integer(value); }
  Value tensor() {
    const Value object = arena.object(pickle::Made::Reduce,
                                      arena.global(str("torch._utils"), str("_rebuild_tensor_v2")), arena.tuple({}));
    contents.mean(object, {Meaning::What::Tensor, contents.add_tensor({})});
    return object;
  }
  Value dict(std::initializer_list<Value> pairs) {
    const Value made = arena.dict();
    arena.set_items(made, std::vector<Value>(pairs));
    return made;
  }
  Value module(Value state) {
    const Value made = arena.object(pickle::Made::NewObj, arena.global(str("models"), str("Net")), arena.tuple({}));
    arena.add_state(made, state);
    return made;
  }
  std::vector<std::string> names(Value root) {
    contents.sections = {{"", root, Role::Unknown}};
    places = *find_places(contents);
    std::vector<std::string> found;
    for (const Place& place : places.rows) found.push_back(name_of(contents, places, place.path));
    return found;
  }
  Places places;
};

using Names = std::vector<std::string>;

TEST(Places, join_keys_indices_and_attributes_with_dots) {
  Tree t;
  const Value list = t.arena.list();
  t.arena.append(list, std::vector<Value>{t.tensor(), t.integer(7), t.tensor()});
  EXPECT_EQ(t.names(t.dict({t.str("a.b"), t.tensor(), t.str("l"), list, t.integer(-3), t.tensor()})),
            (Names{"a.b", "l.0", "l.2", "-3"}));
  EXPECT_EQ(t.names(t.tensor()), Names{""});
}

TEST(Places, leave_out_the_steps_of_a_module_and_tell_its_roles) {
  Tree t;
  const Value non_persistent = t.arena.set();
  t.arena.append(non_persistent, std::vector<Value>{t.str("mask")});
  const Value child = t.module(t.dict({t.str("_parameters"), t.dict({t.str("w"), t.tensor()}), t.str("_buffers"),
                                       t.dict({}), t.str("_modules"), t.dict({})}));
  const Value net = t.module(
      t.dict({t.str("_parameters"), t.dict({t.str("bias"), t.tensor()}), t.str("_buffers"),
              t.dict({t.str("mean"), t.tensor(), t.str("mask"), t.tensor()}), t.str("_non_persistent_buffers_set"),
              non_persistent, t.str("_modules"), t.dict({t.str("0"), child}), t.str("extra"), t.tensor()}));
  EXPECT_EQ(t.names(t.dict({t.str("model"), net})),
            (Names{"model.bias", "model.mean", "model.mask", "model.0.w", "model.extra"}));
  std::vector<Role> roles;
  for (const Place& place : t.places.rows) roles.push_back(place.role);
  EXPECT_EQ(roles, (std::vector{Role::Parameter, Role::Buffer, Role::NonPersistent, Role::Parameter, Role::Attribute}));
}

TEST(Places, list_a_shared_tensor_under_each_name_and_walk_a_shared_container_once) {
  Tree t;
  const Value w = t.tensor();
  const Value inner = t.dict({t.str("w"), w});
  EXPECT_EQ(t.names(t.dict({t.str("a"), inner, t.str("b"), inner, t.str("c"), w})), (Names{"a.w", "c"}));
}

TEST(Places, end_on_cycles_and_refuse_depth_beyond_the_limit) {
  Tree t;
  const Value list = t.arena.list();
  t.arena.append(list, std::vector<Value>{list, t.tensor()});
  EXPECT_EQ(t.names(list), Names{"1"});

  Value deep = t.arena.list();
  t.arena.append(deep, std::vector<Value>{t.tensor()});
  for (int i = 0; i < 50; ++i) deep = t.arena.tuple(std::vector<Value>{deep});
  t.contents.sections = {{"", deep, Role::Unknown}};
  t.contents.limits.max_depth = 20;
  const auto found = find_places(t.contents);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::Limit);
  EXPECT_NE(found.error().message().find("--max-depth"), std::string::npos);
}

TEST(Places, spell_out_names_that_would_collide) {
  Tree t;
  EXPECT_EQ(t.names(t.dict({t.integer(1), t.tensor(), t.str("1"), t.tensor(), t.str("a.b"), t.tensor(), t.str("a"),
                            t.dict({t.str("b"), t.tensor()})})),
            (Names{"1", "['1']", "a.b", "a.b#2"}));
}

TEST(Places, show_what_unknown_objects_were_given) {
  Tree t;
  const Value args = t.arena.tuple(std::vector<Value>{t.tensor()});
  const Value object = t.arena.object(pickle::Made::Reduce, t.arena.global(t.str("m"), t.str("C")), args);
  t.arena.add_state(object, t.arena.tuple(std::vector<Value>{t.tensor()}));
  t.arena.append(object, std::vector<Value>{t.tensor()});
  t.arena.set_items(object, std::vector<Value>{t.str("k"), t.tensor()});
  EXPECT_EQ(t.names(t.dict({t.str("o"), object})), (Names{"o.state.0", "o.k", "o.0", "o.args.0"}));
}

TEST(Places, tell_an_optimizer_by_its_shape) {
  Tree t;
  const Value state = t.dict({t.integer(0), t.dict({t.str("exp_avg"), t.tensor()})});
  EXPECT_EQ(t.names(t.dict({t.str("opt"), t.dict({t.str("state"), state, t.str("param_groups"), t.arena.list()})})),
            Names{"opt.state.0.exp_avg"});
  EXPECT_EQ(t.places.rows.front().role, Role::Optimizer);
}

TEST(KeyText, writes_keys_as_python_does) {
  Tree t;
  const Value pair = t.arena.tuple(std::vector<Value>{t.integer(1), t.str("a")});
  const Value nested = t.arena.tuple(std::vector<Value>{pair, t.arena.tuple({}), t.arena.real(0.5)});
  EXPECT_EQ(key_repr(t.arena, pair), "(1, 'a')");
  EXPECT_EQ(key_repr(t.arena, t.arena.tuple(std::vector<Value>{pair})), "((1, 'a'),)");
  EXPECT_EQ(key_repr(t.arena, nested), "((1, 'a'), (), 0.5)");
  EXPECT_EQ(key_repr(t.arena, pickle::Arena::none()), "None");
  EXPECT_EQ(key_repr(t.arena, pickle::Arena::boolean(true)), "True");
  EXPECT_EQ(key_repr(t.arena, t.arena.text(Kind::Bytes, std::string_view("\x00z", 2))), "b'\\x00z'");
}

}  // namespace
}  // namespace wick::checkpoint
