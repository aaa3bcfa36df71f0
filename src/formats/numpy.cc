// SPDX-License-Identifier: Apache-2.0
// Reads .npy files and .npz archives of them. Formats: docs/formats/npy.md. Object arrays are pickles: they are read as
// inert values, as everything in a pickle is.
#include <algorithm>
#include <string>
#include <vector>

#include "archive/zip_head.h"
#include "base/checked.h"
#include "base/text.h"
#include "checkpoint/ranges.h"
#include "checkpoint/zip_members.h"
#include "formats/npy_header.h"
#include "formats/readers.h"
#include "pickle/machine.h"
#include "python/meaning.h"

namespace wick::formats {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using pickle::Kind;
using pickle::Value;

constexpr std::size_t kFirstBytes = 4096;  // holds nearly every header
constexpr std::string_view kExtension = ".npy";

// Where the arrays of a file lie: one array (npy) or a record of a zip.
struct Place {
  std::uint32_t opener = 0;
  std::uint32_t entry = 0;
  std::uint64_t present = 0;  // data bytes that are there
};

Contents new_contents(const checkpoint::Probe& probe, FileKind kind) {
  Contents contents;
  contents.name = probe.name;
  contents.kind = kind;
  contents.source = probe.source;
  contents.limits = probe.context.limits;
  return contents;
}

// Bytes of all elements, or why there is no such number.
Result<std::uint64_t> data_size(const NpyHeader& header) {
  std::uint64_t elements = 1;
  if (std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end()) return std::uint64_t{0};
  for (const std::int64_t size : header.shape) {
    WICK_TRY(elements, checked_mul(elements, static_cast<std::uint64_t>(size), "number of elements"));
  }
  return checked_mul(elements, header.type.item_bytes, "size of the array");
}

// The row of an array whose elements lie in the file.
Value add_array(Contents& contents, const NpyHeader& header, const Place& place) {
  const auto needed = data_size(header);
  const std::uint64_t bytes = needed ? std::min(*needed, place.present) : place.present;
  const std::uint32_t storage = checkpoint::add_storage(contents, place.opener, place.entry, bytes, header.type.dtype);
  contents.storages[storage].swapped = header.type.big_endian;
  if (needed) contents.storages[storage].declared = *needed;
  const std::uint32_t tensor = checkpoint::add_packed_tensor(contents, header.type.dtype, header.shape, storage);
  if (header.fortran_order)
    contents.tensors[tensor].strides = contents.dims.put(checkpoint::fortran_order_strides(header.shape));
  if (header.type.dtype == DType::NumpyOther) {
    auto& more = contents.more_of(tensor);
    more.numpy_type = header.type.spelling;
    if (std::in_range<std::uint32_t>(header.type.item_bytes))
      more.item_bytes = static_cast<std::uint32_t>(header.type.item_bytes);
    else
      contents.set_error(tensor, fail(ErrorCode::Unsupported, "elements of {} bytes", header.type.item_bytes));
  }
  if (!needed)
    contents.set_error(tensor, needed.error());
  else if (*needed > place.present)
    contents.set_error(tensor, fail_at(ErrorCode::Truncated, header.data_start,
                                       "{} bytes of elements are needed, {} are present", *needed, place.present));
  return checkpoint::tensor_leaf(contents, tensor);
}

// Gives the objects of a pickle their meaning and keeps what it named.
void note_pickle(Contents& contents, const pickle::Pickle& pickle, std::size_t first_object) {
  for (std::size_t i = first_object; i < contents.arena.object_count(); ++i)
    python::give_meaning(contents, pickle::Arena::object_at(i));
  contents.facts.classes.insert(contents.facts.classes.end(), pickle.globals.begin(), pickle.globals.end());
  contents.facts.pickle_protocol = std::max(contents.facts.pickle_protocol, pickle.protocol);
  contents.facts.python2 = contents.facts.python2 || pickle.python2;
  contents.facts.persistent_ids += pickle.persistent_ids.size();
}

// A row that only tells why a record could not be read.
Value add_failure(Contents& contents, const Error& error, std::string_view member) {
  checkpoint::TensorRow row;
  row.dtype = DType::NumpyOther;
  const std::uint32_t tensor = contents.add_tensor(row);
  contents.set_error(tensor, Error(error).inside(member));
  return checkpoint::tensor_leaf(contents, tensor);
}

void finish(Contents& contents, Value root) {
  contents.arena.drop_duplicate_keys();
  contents.sections.push_back({"", root, checkpoint::Role::Unknown});
}

// One record of an npz.
class NpzReader {
 public:
  explicit NpzReader(const checkpoint::Probe& probe)
      : contents_(new_contents(probe, FileKind::Npz)),
        zip_(probe.zip),
        opener_(std::make_shared<checkpoint::ZipPartOpener>(probe.zip, probe.context.limits)) {}

  Contents read();

 private:
  Value record(std::uint32_t index);
  Result<Value> try_record(std::uint32_t index);
  Result<Value> objects(std::uint32_t index, const NpyHeader& header);
  void note_container(const archive::ZipEntry& entry);

  Contents contents_;
  std::shared_ptr<const archive::Zip> zip_;
  std::shared_ptr<checkpoint::ZipPartOpener> opener_;
};

Result<Value> NpzReader::objects(std::uint32_t index, const NpyHeader& header) {
  WICK_TRY(auto bytes, zip_->read(index, contents_.limits));
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  if (header.data_start > owner->size())
    return fail_at(ErrorCode::Truncated, 0, "the header ends at byte {}, {} are present", header.data_start,
                   owner->size());
  const std::size_t first = contents_.arena.object_count();
  WICK_TRY(const auto pickle,
           pickle::read_pickle(std::span(*owner).subspan(static_cast<std::size_t>(header.data_start)),
                               header.data_start, contents_.arena, contents_.limits, owner));
  note_pickle(contents_, pickle, first);
  return pickle.root;
}

Result<Value> NpzReader::try_record(std::uint32_t index) {
  const archive::ZipEntry entry = zip_->entry(index);
  WICK_TRY(auto head, archive::read_entry_head(*zip_, index, kFirstBytes));
  WICK_TRY(const std::uint64_t size, npy_header_size(head));
  if (size > head.size() && size <= entry.size) {
    WICK_CHECK(check_memory(contents_.limits, size, "an array's header"));
    WICK_TRY(head, archive::read_entry_head(*zip_, index, static_cast<std::size_t>(size)));
  }
  WICK_TRY(const NpyHeader header, parse_npy_header(head));
  if (header.type.has_objects) return objects(index, header);
  const std::uint64_t present = entry.size - std::min(entry.size, header.data_start);
  const auto needed = data_size(header);
  const std::uint64_t bytes = needed ? std::min(*needed, present) : present;
  if (needed && *needed < present)
    contents_.findings.push_back({"trailing-bytes",
                                  fmt::format("{} bytes after the elements belong to none", present - *needed),
                                  std::string(entry.name), header.data_start + *needed});
  return add_array(contents_, header, {0, opener_->add(index, header.data_start, bytes), present});
}

Value NpzReader::record(std::uint32_t index) {
  auto value = try_record(index);
  if (value) return *value;
  return add_failure(contents_, value.error(), zip_->entry(index).name);
}

void NpzReader::note_container(const archive::ZipEntry& entry) {
  auto& facts = contents_.facts;
  if (entry.method != 0) {
    ++facts.compressed;
    ++facts.compressed_storages;
  }
  if (entry.crc != 0)
    ++facts.crc_present;
  else if (entry.size != 0)
    ++facts.crc_omitted;
}

Contents NpzReader::read() {
  std::vector<Value> pairs;
  for (std::uint32_t index = 0; index < zip_->size(); ++index) {
    const archive::ZipEntry entry = zip_->entry(index);
    if (entry.is_folder) continue;
    note_container(entry);
    std::string_view name = entry.name;
    name.remove_suffix(kExtension.size());
    pairs.push_back(contents_.arena.text(Kind::Str, name));
    pairs.push_back(record(index));
  }
  const Value root = contents_.arena.dict();
  contents_.arena.set_items(root, pairs);
  contents_.openers.push_back(opener_);
  contents_.members = checkpoint::zip_member_list(zip_);
  contents_.findings.insert(contents_.findings.end(), zip_->findings().begin(), zip_->findings().end());
  finish(contents_, root);
  return std::move(contents_);
}

Result<NpyHeader> read_header(const checkpoint::Probe& probe) {
  WICK_TRY(const std::uint64_t size, npy_header_size(probe.head));
  if (size <= probe.head.size()) return parse_npy_header(probe.head);
  if (size > probe.source->size())
    return fail_at(ErrorCode::Truncated, 0, "the header ends at byte {}, {} are present", size, probe.source->size());
  WICK_TRY(const auto bytes, io::read_range(*probe.source, 0, size, probe.context.limits));
  return parse_npy_header(bytes);
}

void note_rest(Contents& contents, std::uint64_t end) {
  const std::uint64_t size = contents.source->size();
  if (end >= size) return;
  contents.findings.push_back(
      {"trailing-bytes", fmt::format("{} bytes after the array belong to none", size - end), {}, end});
}

}  // namespace

bool is_npy(const checkpoint::Probe& probe) {
  return probe.head.size() >= kNpyMagic.size() &&
         std::equal(kNpyMagic.begin(), kNpyMagic.end(), probe.head.begin(),
                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

Result<Contents> read_npy(const checkpoint::Probe& probe) {
  WICK_TRY(const NpyHeader header, read_header(probe));
  Contents contents = new_contents(probe, FileKind::Npy);
  contents.facts.format_version = fmt::format("{}.{}", header.major, header.minor);
  if (header.type.has_objects) {
    WICK_TRY(const auto pickle,
             pickle::read_pickle_at(*probe.source, header.data_start, contents.arena, contents.limits));
    note_pickle(contents, pickle, 0);
    note_rest(contents, pickle.end);
    finish(contents, pickle.root);
    return contents;
  }
  const auto opener = std::make_shared<checkpoint::RangeOpener>(probe.source);
  const std::uint64_t present = probe.source->size() - header.data_start;
  const auto needed = data_size(header);
  const std::uint64_t bytes = needed ? std::min(*needed, present) : present;
  const Value leaf = add_array(contents, header, {0, opener->add(header.data_start, bytes), present});
  contents.openers.push_back(opener);
  if (header.type.big_endian) contents.facts.byteorder = "big";
  if (needed) note_rest(contents, header.data_start + bytes);
  finish(contents, leaf);
  return contents;
}

// An npz is nothing but .npy records; a zip with others beside them is an archive.
bool is_npz(const checkpoint::Probe& probe) {
  if (probe.zip == nullptr) return false;
  bool any = false;
  for (std::size_t index = 0; index < probe.zip->size(); ++index) {
    const archive::ZipEntry entry = probe.zip->entry(index);
    if (entry.is_folder) continue;
    if (!entry.name.ends_with(kExtension)) return false;
    any = true;
  }
  return any;
}

Result<Contents> read_npz(const checkpoint::Probe& probe) { return NpzReader(probe).read(); }

}  // namespace wick::formats
