// SPDX-License-Identifier: Apache-2.0
// Vectors of FIPS 180-2, appendix B.
#include "base/digest.h"

#include <gtest/gtest.h>

#include "base/cursor.h"

namespace wick {
namespace {

TEST(Sha256, gives_the_digests_of_the_standard) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(as_bytes_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, takes_its_bytes_in_pieces) {
  const std::string piece(1000, 'a');
  Sha256 digest;
  for (int i = 0; i < 1000; ++i) digest.update(as_bytes_of(piece));
  EXPECT_EQ(Sha256::hex(digest.finish()), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, can_be_moved_while_it_runs) {
  Sha256 first;
  first.update(as_bytes_of("ab"));
  Sha256 second = std::move(first);
  second.update(as_bytes_of("c"));
  EXPECT_EQ(Sha256::hex(second.finish()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace wick
