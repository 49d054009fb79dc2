// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/table/table_exporter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/chrome_trace/trace_files.h"

namespace ferret {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'000;

ExporterSpec Spec(const std::string& text) {
  const absl::StatusOr<std::vector<ExporterSpec>> specs = ParseExporterSpecs(text);
  EXPECT_TRUE(specs.ok()) << specs.status();
  return specs.ok() ? (*specs)[0] : ExporterSpec();
}

EventBatch Batch(const std::vector<std::pair<std::string_view, int64_t>>& events) {
  EventBatch batch;
  uint32_t name_id = 0;
  for (const auto& [name, ns] : events) {
    FunctionEvent& event = batch.events.emplace_back();
    event.name = name;
    event.name_id = ++name_id;
    event.start_ns = kStart + 1000;
    event.end_ns = event.start_ns + ns;
    event.self_ns = ns;
  }
  return batch;
}

class TableExporterTest : public testing::Test {
 protected:
  std::unique_ptr<TableExporter> Make(const std::string& spec) {
    absl::StatusOr<TableExporterOptions> options = ParseTableExporterOptions(Spec(spec));
    EXPECT_TRUE(options.ok()) << options.status();
    auto exporter = std::make_unique<TableExporter>(*options, [this] { return now_; });
    SessionInfo info;
    info.start_ns = kStart;
    info.pid = getpid();
    info.process_name = "train";
    info.has_rank = has_rank_;
    info.rank = 3;
    info.world_size = 8;
    EXPECT_TRUE(exporter->Open(info).ok());
    return exporter;
  }

  TempDir folder_;
  bool has_rank_ = false;
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(TableExporterTest, WritesTheTableIntoAFileWithPercentilesAndLosses) {
  auto exporter = Make("table:" + folder_ / "out.txt");
  std::vector<std::pair<std::string_view, int64_t>> events(98, {"aten::add", 1000});
  events.push_back({"aten::add", 4'000'000});
  EventBatch batch = Batch(events);
  for (FunctionEvent& event : batch.events) event.name_id = 1;
  ASSERT_TRUE(exporter->Export(batch).ok());
  ExportProgress progress;
  progress.lost[LossReason::kPoolExhausted] = 12;
  progress.lost[LossReason::kExporterDropped] = 3;
  ASSERT_TRUE(exporter->Close(progress, absl::InfiniteFuture()).ok());
  EXPECT_EQ(folder_.Files(), std::vector<std::string>{"out.txt"});
  EXPECT_EQ(exporter->Destination(), folder_ / "out.txt");
  const std::string text = ReadFile(folder_ / "out.txt");
  for (const char* part : {"aten::add", "p50", "p95", "p99", "max", "4.000ms", "99 events", "train", "# of Calls",
                           "Self CPU time total: 4.098ms",
                           "Lost: 15 events (pool_exhausted 12, exporter_dropped 3)\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST_F(TableExporterTest, SortsLimitsAndSaysWhatIsNotShown) {
  auto exporter = Make("table:" + folder_ / "out.txt" + "?sort_by=cpu_time_total&row_limit=2&max_keys=3");
  ASSERT_TRUE(exporter->Export(Batch({{"short", 1}, {"middle", 500}, {"long", 900}, {"late", 2}, {"later", 3}})).ok());
  ASSERT_TRUE(exporter->Close({}, absl::InfiniteFuture()).ok());
  const std::string text = ReadFile(folder_ / "out.txt");
  EXPECT_LT(text.find("long"), text.find("middle"));
  EXPECT_EQ(text.find("short"), std::string::npos) << text;
  EXPECT_NE(text.find("Rows: 2 of 4 (row_limit)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Row (other): the 2 events of all keys after the first 3 (max_keys)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Lost: nothing\n"), std::string::npos) << text;
}

TEST_F(TableExporterTest, JsonHasEverythingAndIsStrict) {
  has_rank_ = true;
  auto exporter = Make("table:" + folder_ / "out-%r.json" + "?format=json&row_limit=-1");
  const std::string hostile("\"\\\n\x01\xff", 5);
  ASSERT_TRUE(exporter->Export(Batch({{hostile, 100}, {"plain", 40}})).ok());
  ExportProgress progress;
  progress.lost[LossReason::kStoppedRace] = 2;
  ASSERT_TRUE(exporter->Close(progress, absl::InfiniteFuture()).ok());
  EXPECT_EQ(folder_.Files(), std::vector<std::string>{"out-3.json"});
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(ReadFile(folder_ / "out-3.json").c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_EQ(document["rank"].GetInt(), 3);
  EXPECT_EQ(document["events"].GetInt(), 2);
  EXPECT_EQ(document["ferret_pid"].GetInt(), getpid());
  EXPECT_EQ(document["end_ns"].GetInt64(), kStart + 1100);
  EXPECT_EQ(document["lost"]["stopped_race"].GetInt(), 2);
  const auto rows = document["rows"].GetArray();
  ASSERT_EQ(rows.Size(), 2u);
  EXPECT_STREQ(rows[0]["key"].GetString(), "\"\\\n\x01\xef\xbf\xbd");
  EXPECT_STREQ(rows[1]["key"].GetString(), "plain");
  EXPECT_EQ(rows[1]["count"].GetInt(), 1);
  EXPECT_EQ(rows[1]["self_cpu_time_total_ns"].GetInt(), 40);
  EXPECT_EQ(rows[1]["max_ns"].GetInt(), 40);
  ASSERT_EQ(rows[1]["histogram"].Size(), 1u);
  EXPECT_EQ(rows[1]["histogram"][0][0].GetInt(), 40);
  EXPECT_EQ(rows[1]["histogram"][0][1].GetInt(), 1);
}

TEST_F(TableExporterTest, WhatBecameOfScopesToBeTimedIsToldAndTheirTimeHasColumns) {
  ExportProgress progress;
  progress.device.asked = 10;
  progress.device.timed = 7;
  progress.device[DeviceLoss::kCapture] = 2;
  progress.device[DeviceLoss::kTimeout] = 1;
  EventBatch batch = Batch({{"gemm", 100}, {"other", 50}});
  DeviceTimeShare& share = batch.device_times.emplace_back();
  share.name = "gemm";
  share.name_id = 1;
  share.self_ns = share.total_ns = 4000;
  auto exporter = Make("table:" + folder_ / "out.txt");
  ASSERT_TRUE(exporter->Export(batch).ok());
  ASSERT_TRUE(exporter->Close(progress, absl::InfiniteFuture()).ok());
  const std::string text = ReadFile(folder_ / "out.txt");
  EXPECT_NE(text.find("\nTimed on a device: 7 of 10 scopes (capture 2, timeout 1)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("CUDA total"), std::string::npos) << text;
  EXPECT_NE(text.find("4.000us"), std::string::npos) << text;

  exporter = Make("table:" + folder_ / "out.json" + "?format=json");
  ASSERT_TRUE(exporter->Export(batch).ok());
  ASSERT_TRUE(exporter->Close(progress, absl::InfiniteFuture()).ok());
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(ReadFile(folder_ / "out.json").c_str()).HasParseError());
  const auto& counts = document["device_counts"];
  EXPECT_EQ(counts.MemberCount(), 4u);
  EXPECT_EQ(counts["asked"].GetInt(), 10);
  EXPECT_EQ(counts["timed"].GetInt(), 7);
  EXPECT_EQ(counts["capture"].GetInt(), 2);
  EXPECT_EQ(counts["timeout"].GetInt(), 1);
  EXPECT_EQ(document["rows"][0]["device_time_total_ns"].GetInt(), 4000);
}

TEST_F(TableExporterTest, AFileIsUpToDateAfterEachFlushAlsoWithoutItsEnd) {
  auto exporter = Make("table:" + folder_ / "out.txt");
  ASSERT_TRUE(exporter->Flush({}, absl::InfiniteFuture()).ok());
  EXPECT_EQ(folder_.Files(), std::vector<std::string>()) << "nothing recorded yet";
  ASSERT_TRUE(exporter->Export(Batch({{"a name that is rather long and is cut later on by nothing", 1}})).ok());
  ASSERT_TRUE(exporter->Export(Batch({{"first", 1}})).ok());
  ASSERT_TRUE(exporter->Flush({}, absl::InfiniteFuture()).ok());
  const std::string before = ReadFile(folder_ / "out.txt.tmp");
  EXPECT_NE(before.find("2 events"), std::string::npos) << before;
  ExportProgress progress;
  ASSERT_TRUE(exporter->Export(Batch({{"first", 1}})).ok());
  ASSERT_TRUE(exporter->Flush(progress, absl::InfiniteFuture()).ok());
  const std::string after = ReadFile(folder_ / "out.txt.tmp");
  EXPECT_NE(after.find("3 events"), std::string::npos) << after;
  EXPECT_EQ(after.find("2 events"), std::string::npos) << "only the latest report: " << after;
  ASSERT_TRUE(exporter->Close({}, absl::InfiniteFuture()).ok());
  EXPECT_EQ(folder_.Files(), std::vector<std::string>{"out.txt"});
}

TEST_F(TableExporterTest, AStreamGetsAReportEverySoOftenAndAtTheEnd) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  auto exporter = Make("table:" + pipe + "?every=10s&format=json");
  ASSERT_TRUE(exporter->Export(Batch({{"first", 1}})).ok());
  for (int seconds = 0; seconds < 25; ++seconds) {
    ASSERT_TRUE(exporter->Flush({}, absl::InfiniteFuture()).ok());
    now_ += absl::Seconds(1);
  }
  ASSERT_TRUE(exporter->Close({}, absl::InfiniteFuture()).ok());
  std::string text(65536, '\0');
  const ssize_t got = read(reader, text.data(), text.size());
  close(reader);
  ASSERT_GT(got, 0);
  text.resize(static_cast<size_t>(got));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 3u) << "after 10 and 20 seconds, and at the end";
  for (const std::string& line : lines) {
    rapidjson::Document document;
    EXPECT_FALSE(document.Parse(line.c_str()).HasParseError()) << line;
  }
  EXPECT_EQ(folder_.Files(), std::vector<std::string>{"pipe"});
}

TEST_F(TableExporterTest, StandardErrorIsTheDefaultAndGetsOneReport) {
  testing::internal::CaptureStderr();
  auto exporter = Make("table");
  ASSERT_TRUE(exporter->Export(Batch({{"first", 1}})).ok());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(exporter->Flush({}, absl::InfiniteFuture()).ok());
    now_ += absl::Seconds(100);
  }
  ASSERT_TRUE(exporter->Close({}, absl::InfiniteFuture()).ok());
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("first"), std::string::npos);
  EXPECT_EQ(text.find("Lost: nothing"), text.rfind("Lost: nothing")) << text;
  EXPECT_EQ(text.find("ferret_run_id"), std::string::npos) << "of a file only: " << text;
}

TEST_F(TableExporterTest, NothingRecordedPrintsNothing) {
  auto exporter = Make("table:" + folder_ / "out.txt");
  ASSERT_TRUE(exporter->Export({}).ok());
  ASSERT_TRUE(exporter->Close({}, absl::InfiniteFuture()).ok());
  EXPECT_EQ(folder_.Files(), std::vector<std::string>());
}

TEST_F(TableExporterTest, AFileThatCannotBeWrittenIsAnError) {
  auto exporter = Make("table:/proc/no/such/out.txt");
  ASSERT_TRUE(exporter->Export(Batch({{"first", 1}})).ok());
  EXPECT_FALSE(exporter->Close({}, absl::InfiniteFuture()).ok());
  auto directory = Make("table:" + folder_.path());
  ASSERT_TRUE(directory->Export(Batch({{"first", 1}})).ok());
  EXPECT_FALSE(directory->Close({}, absl::InfiniteFuture()).ok());
}

TEST_F(TableExporterTest, WhatCouldNotBeWrittenInTheEndIsCounted) {
  auto exporter = Make("table:/dev/full");
  ASSERT_TRUE(exporter->Export(Batch({{"first", 1}, {"second", 1}})).ok());
  EXPECT_FALSE(exporter->Close({}, absl::InfiniteFuture()).ok());
  EXPECT_EQ(exporter->NotDelivered(), 2u);
  auto fine = Make("table:/dev/null");
  ASSERT_TRUE(fine->Export(Batch({{"first", 1}})).ok());
  EXPECT_TRUE(fine->Close({}, absl::InfiniteFuture()).ok());
  EXPECT_EQ(fine->NotDelivered(), 0u);
}

TEST(TableExporterSpec, BadParametersAreNamedWithWhatIsAllowed) {
  const struct {
    const char *spec, *named, *allowed;
  } cases[] = {
      {"table?sort_by=speed", "sort_by=speed", "self_cpu_time_total"},
      {"table?sort_by=a%0Ab", "sort_by=a\\nb", "self_cpu_time_total"},
      {"table?format=xml", "format=xml", "text or json"},
      {"table?every=10", "every=10", "1s"},
      {"table?every=1ms", "every=1ms", "1s"},
      {"table?max_keys=0", "max_keys", "1"},
      {"table?row_limit=-2", "row_limit", "-1"},
      {"table?group_by_input_shapes=yes", "group_by_input_shapes", "1"},
      {"table?group_by_stack_n=-1", "group_by_stack_n", "0"},
      {"table?colour=red", "colour", "sort_by"},
      {"table:out-%q.txt", "%q", "%p"},
  };
  for (const auto& bad : cases) {
    const absl::StatusOr<std::unique_ptr<Exporter>> exporter = TableExporter::Create(Spec(bad.spec));
    ASSERT_EQ(exporter.status().code(), absl::StatusCode::kInvalidArgument) << bad.spec;
    const std::string message(exporter.status().message());
    EXPECT_NE(message.find(bad.named), std::string::npos) << message;
    EXPECT_NE(message.find(bad.allowed), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace ferret
