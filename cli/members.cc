// SPDX-License-Identifier: Apache-2.0
#include "members.h"

#include "base/format.h"
#include "base/text.h"
#include "table.h"

namespace wick::cli {
namespace {

using checkpoint::Member;

std::string crc_text(const Member& member) { return member.has_crc ? fmt::format("{:08x}", member.crc) : "-"; }

void print_text(Session& session, const Document& document, const std::vector<Member>& members, bool many) {
  const Column columns[] = {{"record"}, {"bytes", true}, {"packed", true}, {"method"}, {"crc32"}, {"at", true}};
  print_table(session.out, columns, members.size(), session.out.stdout_is_terminal(), [&](std::size_t i) {
    const Member& member = members[i];
    const std::string name = many ? fmt::format("{}::{}", document.name, member.name) : member.name;
    return std::vector<std::string>{escape_for_display(name),
                                    fmt::format("{}", member.size),
                                    fmt::format("{}", member.compressed),
                                    escape_for_display(member.method),
                                    crc_text(member),
                                    fmt::format("{}", member.header)};
  });
}

void write_member(JsonWriter& json, const Member& member) {
  json.named_text("name", member.name);
  json.key("bytes").number(member.size);
  json.key("compressed_bytes").number(member.compressed);
  json.named_text("method", member.method);
  json.key("crc32");
  if (member.has_crc)
    json.text(crc_text(member));
  else
    json.null();
  json.key("header_offset").number(member.header);
}

void print_json(Session& session, const Document& document, const std::vector<Member>& members) {
  const bool rows = session.json_mode == JsonMode::Rows;
  if (!rows) {
    session.open_document("wick.ls/1", document.name, name_of(document.loaded->contents.kind));
    session.json.key("members").open_array();
  }
  for (const Member& member : members) {
    session.json.open_object();
    if (rows) {
      session.json.key("schema").text("wick.ls.member/1");
      session.json.named_text("file", document.name);
    }
    write_member(session.json, member);
    session.json.close_object();
    if (rows) session.json.end_line();
  }
  if (rows) return;
  session.json.close_array();
  session.json.close_object();
  session.json.end_line();
}

}  // namespace

std::size_t list_members(Session& session, const Document& document, const NameFilter& names, bool many) {
  const auto& list = document.loaded->contents.members;
  if (!list) {
    session.note(fmt::format("{}: is no archive, so it has no records", escape_for_display(document.name)));
    session.answer_no();
    return 0;
  }
  std::vector<Member> members;
  for (std::uint64_t i = 0; i < list->size(); ++i) {
    Member member = list->at(i);
    if (names.picks(member.name)) members.push_back(std::move(member));
  }
  if (session.json_mode == JsonMode::None)
    print_text(session, document, members, many);
  else
    print_json(session, document, members);
  return members.size();
}

}  // namespace wick::cli
