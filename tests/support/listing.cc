// SPDX-License-Identifier: Apache-2.0
#include "support/listing.h"

#include <algorithm>
#include <filesystem>

#include "base/digest.h"
#include "base/format.h"
#include "checkpoint/read_tensor.h"

namespace wick::support {
namespace {

namespace fs = std::filesystem;

std::string digest(const checkpoint::Contents& contents, std::uint32_t tensor) {
  Sha256 sha;
  const auto done = checkpoint::stream_elements(contents, tensor, [&](std::span<const std::byte> bytes) {
    sha.update(bytes);
    return Result<void>();
  });
  return done ? Sha256::hex(sha.finish()) : std::string(name_of(done.error().code())) + ": " + done.error().message();
}

std::string numbers(std::span<const std::int64_t> values) {
  std::string text;
  for (const std::int64_t value : values) text += fmt::format("{},", value);
  return text;
}

}  // namespace

std::string listing(const open_detail::Loaded& loaded) {
  const checkpoint::Contents& contents = loaded.contents;
  std::string text = fmt::format("{} tensors of kind {}\n", loaded.all.rows.size(), static_cast<int>(contents.kind));
  for (const checkpoint::Place& place : loaded.all.rows) {
    const checkpoint::TensorRow& row = contents.tensors[place.tensor];
    const Error* error = contents.error_of(row);
    text +=
        fmt::format("{} {} {} {} {} {} {}\n", name_of(contents, loaded.all, place.path), static_cast<int>(row.dtype),
                    name_of(row.layout), numbers(contents.sizes(row)), numbers(contents.strides(row)), row.offset,
                    error != nullptr ? error->message() : digest(contents, place.tensor));
  }
  return text;
}

std::string listing(io::SourcePtr source, const Limits& limits) {
  Context context;
  context.limits = limits;
  const auto loaded = open_detail::load(std::move(source), "fixture", context);
  if (!loaded) return fmt::format("{}: {}", name_of(loaded.error().code()), loaded.error().message());
  return listing(**loaded);
}

std::string fixtures_folder() { return WICK_TESTS_DIR "/fixtures/torch"; }

std::vector<std::string> fixture_files() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(fixtures_folder(), ignored)) {
    const std::string name = fs::relative(entry.path(), fixtures_folder()).string();
    if (entry.is_regular_file() && name.find('/') != std::string::npos) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::byte> read_fixture(const std::string& name) {
  const auto source = open_file(fixtures_folder() + "/" + name);
  if (!source) return {};
  auto bytes = io::read_all(**source, {});
  return bytes ? std::move(*bytes) : std::vector<std::byte>();
}

}  // namespace wick::support
