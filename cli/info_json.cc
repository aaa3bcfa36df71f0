// SPDX-License-Identifier: Apache-2.0
#include "info_json.h"

#include "base/format.h"
#include "object_tree.h"

namespace wick::cli {
namespace {

using check::Found;
using checkpoint::Contents;
using pickle::Kind;

class InfoWriter {
 public:
  InfoWriter(Session& session, const Document& document, const Report& report)
      : session_(session), json_(session.json), document_(document), report_(report) {}

  void run() {
    session_.open_document("wick.info/1", document_.name, name_of(contents().kind));
    write_counts();
    write_container();
    write_writer();
    write_training();
    write_hints();
    write_findings();
    json_.close_object();
    json_.end_line();
  }

 private:
  [[nodiscard]] const Contents& contents() const { return document_.loaded->contents; }

  void write_counts() {
    const Facts& facts = report_.facts;
    json_.key("bytes").number(facts.bytes);
    json_.key("mime").text(facts.mime);
    json_.key("holds").text(facts.holds);
    write_roots();
    json_.key("tensors").number(facts.tensors);
    json_.key("arrays").number(facts.arrays);
    json_.key("model_tensors").number(facts.model_tensors);
    json_.key("parameters").number(facts.parameters);
    json_.key("parameters_all").number(facts.parameters_all);
    json_.key("tensor_bytes").number(facts.tensor_bytes);
    json_.key("storage_bytes").number(facts.storage_bytes);
    json_.key("storages").number(facts.storages);
    json_.key("bad_tensors").number(facts.bad_tensors);
    write_counts("dtypes", facts.dtypes);
    write_counts("devices", facts.devices);
  }

  void write_roots() {
    const auto& automatic = document_.loaded->automatic;
    json_.named_text("root", automatic.path);
    json_.key("roots").open_array();
    for (const auto& other : automatic.others) {
      json_.open_object();
      json_.named_text("path", other.path);
      json_.key("tensors").number(other.tensors);
      json_.key("bytes").number(other.bytes);
      json_.close_object();
    }
    json_.close_array();
    if (automatic.names_may_differ.empty()) return;
    json_.key("names_may_differ").open_array();
    for (const std::string& name : automatic.names_may_differ) json_.text(name);
    json_.close_array();
  }

  // Names come from the file: an array of pairs could not be looked up, so they are keys; escaped as text is.
  void write_counts(std::string_view key, const Counts& counts) {
    json_.key(key).open_object();
    for (const auto& [name, count] : counts) {
      json_.text_key(name);
      json_.number(count);
    }
    json_.close_object();
  }

  void write_container() {
    const auto& facts = contents().facts;
    json_.key("byteorder").text(facts.byteorder);
    number_or_null("alignment", facts.alignment, facts.alignment != 0);
    json_.key("crc");
    if (facts.crc_present + facts.crc_omitted == 0)
      json_.null();
    else
      json_.text(facts.crc_omitted == 0 ? "present" : facts.crc_present == 0 ? "omitted" : "mixed");
    json_.key("compressed").number(facts.compressed);
    json_.key("pickle_protocol");
    if (facts.pickle_protocol < 0)
      json_.null();
    else
      json_.number(facts.pickle_protocol);
    json_.key("persistent_ids").open_object();
    json_.key("total").number(facts.persistent_ids);
    json_.key("used").number(facts.persistent_ids_used);
    json_.close_object();
    json_.key("classes").open_array();
    for (const pickle::Value global : facts.classes) json_.text(global_text(contents(), global));
    json_.close_array();
    json_.key("members");
    if (contents().members)
      json_.number(contents().members->size());
    else
      json_.null();
    write_texts("extra_members", facts.extra_members);
    if (!contents().model_members.empty()) write_texts("model_members", contents().model_members);
    if (!facts.metadata.empty()) write_pairs("metadata", facts.metadata);
  }

  void number_or_null(std::string_view key, std::uint64_t number, bool known) {
    json_.key(key);
    if (known)
      json_.number(number);
    else
      json_.null();
  }

  void write_texts(std::string_view key, const std::vector<std::string>& texts) {
    json_.key(key).open_array();
    for (const std::string& text : texts) json_.text(text);
    json_.close_array();
  }

  void write_pairs(std::string_view key, const std::vector<std::pair<std::string, std::string>>& pairs) {
    json_.key(key).open_array();
    for (const auto& [name, value] : pairs) {
      json_.open_object();
      json_.named_text("key", name);
      json_.named_text("value", value);
      json_.close_object();
    }
    json_.close_array();
  }

  void text_or_null(std::string_view key, std::string_view text) {
    if (!text.empty()) return json_.named_text(key, text);
    json_.key(key).null();
  }

  void write_writer() {
    const check::Writer& writer = report_.writer;
    json_.key("writer").open_object();
    text_or_null("tool", writer.tool);
    json_.key("evidence").open_array();
    for (const check::Evidence& evidence : writer.evidence) {
      json_.open_object();
      json_.named_text("found", evidence.found);
      json_.named_text("means", evidence.means);
      json_.close_object();
    }
    json_.close_array();
    text_or_null("torch_from", writer.torch_from);
    text_or_null("torch_until", writer.torch_until);
    text_or_null("torch_min", writer.torch_min);
    write_pairs("said", writer.said);
    json_.close_object();
  }

  // ---- training ----

  void write_training() {
    const check::Training& training = report_.training;
    json_.key("training");
    if (training.empty()) return json_.null();
    json_.open_object();
    write_found("epoch", training.epoch);
    write_found("step", training.step);
    write_found("saved_at", training.saved_at);
    write_founds("loss", training.losses);
    write_founds("metrics", training.metrics);
    write_founds("config", training.config);
    write_founds("versions", training.versions);
    write_optimizers();
    write_founds("scheduler", training.schedulers);
    write_founds("scaler", training.scalers);
    write_founds("rng", training.rng);
    write_founds("averages", training.averages);
    json_.close_object();
  }

  void write_found(const Found& found) {
    json_.open_object();
    json_.named_text("name", found.name);
    json_.named_text("path", found.path);
    json_.key("value");
    const pickle::Value value = contents().resolve(found.value);
    switch (value.kind()) {
      case Kind::None:
      case Kind::Bool:
      case Kind::Int:
      case Kind::BigInt:
      case Kind::Float:
      case Kind::Str:
      case Kind::Py2Str: write_scalar(json_, contents(), value, session_.encoding); break;
      default: json_.text(found.text);
    }
    json_.close_object();
  }

  void write_found(std::string_view key, const std::optional<Found>& found) {
    if (!found) return;
    json_.key(key);
    write_found(*found);
  }

  void write_founds(std::string_view key, const std::vector<Found>& founds) {
    if (founds.empty()) return;
    json_.key(key).open_array();
    for (const Found& found : founds) write_found(found);
    json_.close_array();
  }

  void write_optimizers() {
    if (report_.training.optimizers.empty()) return;
    json_.key("optimizer").open_array();
    for (const check::OptimizerFound& optimizer : report_.training.optimizers) {
      json_.open_object();
      json_.named_text("path", optimizer.path);
      text_or_null("class", optimizer.class_name);
      json_.key("guessed").boolean(optimizer.guessed);
      json_.key("groups").open_array();
      for (const check::OptimizerGroup& group : optimizer.groups) {
        json_.open_object();
        json_.key("parameters").number(group.parameters);
        json_.key("hyper").open_array();
        for (const Found& found : group.hyper) write_found(found);
        json_.close_array();
        json_.close_object();
      }
      json_.close_array();
      write_texts("slots", optimizer.slot_names);
      json_.key("parameters_with_state").number(optimizer.parameters_with_state);
      json_.key("tensors").number(optimizer.tensors);
      json_.key("bytes").number(optimizer.bytes);
      json_.close_object();
    }
    json_.close_array();
  }

  void write_hints() {
    json_.key("hints").open_array();
    for (const check::Hint& hint : report_.hints) {
      json_.open_object();
      json_.key("code").text(hint.code);
      json_.named_text("message", hint.message);
      text_or_null("next", hint.next);
      json_.close_object();
    }
    json_.close_array();
  }

  void write_findings() {
    json_.key("findings").open_array();
    for (const Finding& finding : contents().findings) {
      json_.open_object();
      json_.key("code").text(finding.code);
      json_.named_text("message", finding.message);
      text_or_null("member", finding.member);
      number_or_null("offset", finding.offset.value_or(0), finding.offset.has_value());
      json_.close_object();
    }
    json_.close_array();
  }

  Session& session_;
  JsonWriter& json_;
  const Document& document_;
  const Report& report_;
};

std::string text_of(const Contents& contents, pickle::Value value) {
  const bool text = value.is(Kind::Str) || value.is(Kind::Py2Str) || value.is(Kind::Bytes);
  return text ? std::string(contents.arena.as_text(value)) : std::string("?");
}

}  // namespace

std::string global_text(const Contents& contents, pickle::Value global) {
  if (!global.is(Kind::Global)) return "?";
  return text_of(contents, contents.arena.module(global)) + "." + text_of(contents, contents.arena.name(global));
}

void write_info(Session& session, const Document& document, const Report& report) {
  InfoWriter(session, document, report).run();
}

}  // namespace wick::cli
