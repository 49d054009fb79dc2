// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a crash file, as a full disk or a copy that was broken off leaves it, is refused with a reason. What
// any bytes do is fuzzed: //tests/fuzz:crash_file_test.

#include <cstring>

#include "tests/crash/crash_kit.h"

namespace ferret {
namespace {

using internal::CrashContents;
using internal::CrashHeader;

class ShortCrashFile : public CrashSessionTest {};

TEST_F(ShortCrashFile, IsRefusedWhereverItEnds) {
  Start();
  { FERRET_SCOPE("settled"); }
  Settle();
  const Scope open("open");
  const std::string bytes = Bytes();
  ASSERT_TRUE(CrashContents::Read(bytes).ok());
  CrashHeader header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof(header));
  std::vector<size_t> sizes = {0, 1, 8, 64, sizeof(header) - 1, sizeof(header), sizeof(header) + 1, 4096, bytes.size() - 1};
  for (const CrashHeader::Part& part : header.parts) {
    sizes.push_back(part.offset);
    sizes.push_back(part.offset + part.bytes - 1);
  }
  for (const size_t size : sizes) {
    const auto contents = CrashContents::Read(bytes.substr(0, size));
    ASSERT_FALSE(contents.ok()) << size;
    EXPECT_FALSE(contents.status().message().empty()) << size;
  }
}

}  // namespace
}  // namespace ferret
