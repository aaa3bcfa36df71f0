// SPDX-License-Identifier: Apache-2.0
// SHA-256 by OpenSSL libcrypto, in a way that reads no configuration file and loads no provider or engine.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace wick {

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();
  void update(std::span<const std::byte> bytes);
  std::array<std::byte, 32> finish();  // once
  static std::string hex(std::span<const std::byte> bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lower-case hex of the SHA-256 of `bytes`.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace wick
