// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/output_path.h"

#include <gtest/gtest.h>

#include <string>

namespace ferret {
namespace {

PathContext Context() {
  PathContext context;
  context.pid = 4711;
  context.rank = 3;
  context.host = "node-b";
  context.start_ns = 1751410836123456789;
  return context;
}

TEST(OutputPath, PatternsAreExpanded) {
  EXPECT_EQ(ExpandPath("%h/%p-%r-%t-%n-%%.json", Context()), "node-b/4711-3-20250701T230036Z-1-%.json");
}

TEST(OutputPath, AHostNameCannotLeaveTheDirectory) {
  PathContext context = Context();
  context.host = "../a/b";
  EXPECT_EQ(ExpandPath("%h.json", context), ".._a_b.json");
}

TEST(OutputPath, ARankIsAddedBeforeTheExtensionsIfThePatternDoesNotTellProcessesApart) {
  PathContext context = Context();
  context.has_rank = true;
  EXPECT_EQ(ExpandPath("trace.json.gz", context), "trace-rank3.json.gz");
  EXPECT_EQ(ExpandPath("trace-%r.json", context), "trace-3.json");
  EXPECT_EQ(ExpandPath("trace-%p.json", context), "trace-4711.json");
  EXPECT_EQ(ExpandPath("trace%%p.json", context), "trace%p-rank3.json");
}

TEST(OutputPath, AForkedChildAddsItsPidIfThePatternDoesNot) {
  PathContext context = Context();
  context.in_forked_child = true;
  EXPECT_EQ(ExpandPath("trace.json.gz", context), "trace-4711.json.gz");
  EXPECT_EQ(ExpandPath("trace-%p.json", context), "trace-4711.json");
  context.has_rank = true;
  EXPECT_EQ(ExpandPath("trace.json", context), "trace-rank3-4711.json");
  EXPECT_EQ(ExpandPath("trace-%r.json", context), "trace-3-4711.json");
}

TEST(OutputPath, PartsOfASplitOutputAreNumbered) {
  PathContext context = Context();
  context.split = true;
  context.part = 2;
  EXPECT_EQ(ExpandPath("trace.json", context), "trace-part2.json");
  EXPECT_EQ(ExpandPath("trace.%n.json", context), "trace.2.json");
  context.has_rank = true;
  EXPECT_EQ(ExpandPath("trace.json", context), "trace-rank3-part2.json");
}

TEST(OutputPath, OutputsOfOneSessionAreToldApartByTheirLabels) {
  PathContext context = Context();
  context.label = "dump2";
  EXPECT_EQ(ExpandPath("trace.json.gz", context), "trace-dump2.json.gz");
  EXPECT_EQ(ExpandPath("trace.%n.json", context), "trace.dump2.json");
  context.has_rank = true;
  EXPECT_EQ(ExpandPath("trace.json", context), "trace-rank3-dump2.json");
  context.split = true;
  context.part = 4;
  EXPECT_EQ(ExpandPath("trace.json", context), "trace-rank3-dump2-part4.json");
  EXPECT_EQ(ExpandPath("%r.%n.json", context), "3.dump2-4.json");
}

TEST(OutputPath, ExtensionsOfTracesStayTogether) {
  EXPECT_EQ(InsertBeforeExtension("d.x/w.1.pt.trace.json.gz", "-a"), "d.x/w.1-a.pt.trace.json.gz");
  EXPECT_EQ(InsertBeforeExtension("run.jsonl.gz", "-a"), "run-a.jsonl.gz");
  EXPECT_EQ(InsertBeforeExtension("t.gz", "-a"), "t-a.gz");
  EXPECT_EQ(InsertBeforeExtension("t.csv", "-a"), "t-a.csv");
  EXPECT_EQ(InsertBeforeExtension("d.x/trace", "-a"), "d.x/trace-a");
  EXPECT_EQ(InsertBeforeExtension(".json", "-a"), ".json-a");
}

TEST(OutputPath, AnUnknownPatternIsRefusedByName) {
  EXPECT_TRUE(CheckPathPattern("a-%p-%r-%h-%t-%n-%%.json").ok());
  const absl::Status status = CheckPathPattern("a-%q.json");
  EXPECT_NE(std::string(status.message()).find("\"%q\""), std::string::npos) << status;
  EXPECT_NE(std::string(status.message()).find("%p (process id)"), std::string::npos) << status;
  EXPECT_FALSE(CheckPathPattern("a%").ok());
  // One line, whatever is in it.
  EXPECT_NE(CheckPathPattern("a\n%\r").message().find("\"a\\n%\\r\" contains \"%\\r\""), std::string::npos);
}

}  // namespace
}  // namespace ferret
