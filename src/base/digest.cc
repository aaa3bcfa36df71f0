// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

// The digest itself, not the EVP interface: EVP_DigestInit_ex2 looks for engines even for a method from a private
// library context, and that look reads openssl.cnf (crypto/engine/eng_table.c of 3.0), which may name a shared object
// to load. These functions are deprecated in favour of EVP, not on their way out.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <string_view>

namespace wick {

struct Sha256::State {
  SHA256_CTX hash{};
};

// The three calls return 1 always (FIPS 180-4 leaves nothing that could fail).
Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->hash); }
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) { SHA256_Update(&state_->hash, bytes.data(), bytes.size()); }

std::array<std::byte, 32> Sha256::finish() {
  std::array<std::byte, 32> digest{};
  SHA256_Final(static_cast<unsigned char*>(static_cast<void*>(digest.data())), &state_->hash);
  return digest;
}

std::string Sha256::hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 0xFU];
  }
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.update(bytes);
  return Sha256::hex(digest.finish());
}

}  // namespace wick
