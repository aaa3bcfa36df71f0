// SPDX-License-Identifier: Apache-2.0
// Facts of the zip format that readers and writers share. APPNOTE 6.3.10, sections 4.3 and 4.5.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::archive::zip_format {

inline constexpr std::uint32_t kLocalSignature = 0x04034B50;      // PK\3\4
inline constexpr std::uint32_t kDirectorySignature = 0x02014B50;  // PK\1\2
inline constexpr std::uint32_t kEndSignature = 0x06054B50;        // PK\5\6
inline constexpr std::uint32_t kEnd64Signature = 0x06064B50;      // PK\6\6
inline constexpr std::uint32_t kLocatorSignature = 0x07064B50;    // PK\6\7

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kDeflated = 8;
inline constexpr std::uint16_t kEncryptedFlags = 0x2041;  // encrypted, strongly, with a masked directory
inline constexpr std::uint16_t kPatchFlag = 0x0020;
inline constexpr std::uint16_t kZip64Extra = 0x0001;

// A field with all bits set means "see the zip64 extra".
inline constexpr std::uint16_t kSaturated16 = 0xFFFF;
inline constexpr std::uint32_t kSaturated32 = 0xFFFFFFFF;

// Local header, 4.3.7: name and extra follow its fixed part.
namespace local {
inline constexpr std::size_t kFlags = 6, kMethod = 8, kNameBytes = 26, kExtraBytes = 28, kFixed = 30;
}
// Central directory entry, 4.3.12: name, extra and comment follow its fixed part.
namespace directory {
inline constexpr std::size_t kFlags = 8, kMethod = 10, kCrc = 16, kCompressed = 20, kSize = 24, kNameBytes = 28,
                             kExtraBytes = 30, kCommentBytes = 32, kHeader = 42, kFixed = 46;
}
// End of central directory record, 4.3.16: the comment follows.
namespace end {
inline constexpr std::size_t kDisk = 4, kDirectoryDisk = 6, kCountHere = 8, kCount = 10, kDirectoryBytes = 12,
                             kDirectory = 16, kCommentBytes = 20, kFixed = 22, kLargestComment = 65535;
}
// Zip64 end of central directory record, 4.3.14, and its locator, 4.3.15.
namespace end64 {
inline constexpr std::size_t kRecordBytes = 4, kDisk = 16, kDirectoryDisk = 20, kCount = 32, kDirectoryBytes = 40,
                             kDirectory = 48, kFixed = 56;
inline constexpr std::uint64_t kUncounted = 12;  // signature and size field, which kRecordBytes leaves out
}  // namespace end64
namespace locator {
inline constexpr std::size_t kRecord = 8, kFixed = 20;
}

}  // namespace wick::archive::zip_format
