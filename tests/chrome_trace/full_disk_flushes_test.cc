// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A disk that is full for hours, while somebody goes on flushing.

#include <errno.h>
#include <gtest/gtest.h>

#include <string>

#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "tests/chrome_trace/trace_files.h"

namespace ferret {
namespace {

constexpr absl::Time kNoDeadline = absl::InfiniteFuture();

// Refuses every write while it is full.
class Disk final : public FileIo {
 public:
  ssize_t PWrite(int fd, const char* data, size_t size, int64_t offset) override {
    ++writes;
    if (!full) return FileIo::PWrite(fd, data, size, offset);
    errno = ENOSPC;
    return -1;
  }
  bool full = false;
  int writes = 0;
};

class FullDisk : public testing::TestWithParam<const char*> {};

TEST_P(FullDisk, KeepsNoMoreInMemoryHoweverOftenItIsFlushed) {
  TempDir folder;
  Disk disk;
  ChromeTraceOptions options;
  options.target = folder / GetParam();
  options.io = &disk;
  ChromeTraceExporter exporter(options);
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  EventBatch batch;
  batch.events.push_back(TestEvent("op", 1, 2));
  ASSERT_TRUE(exporter.Export(batch).ok());
  disk.full = true;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(exporter.Flush({}, kNoDeadline).ok());
  disk.full = false;
  disk.writes = 0;
  ASSERT_TRUE(exporter.Flush({}, kNoDeadline).ok());
  EXPECT_LT(disk.writes, 20) << "each piece that waited takes one";
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
  EXPECT_EQ(exporter.NotDelivered(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Files, FullDisk, testing::Values("trace.json", "trace.json.gz"),
                         [](const auto& tested) { return std::string(tested.param) == "trace.json" ? "Plain" : "Gzip"; });

}  // namespace
}  // namespace ferret
