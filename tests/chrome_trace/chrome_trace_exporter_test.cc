// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "ferret/scope_details.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "tests/chrome_trace/trace_files.h"

namespace ferret {
namespace {

constexpr absl::Time kNoDeadline = absl::InfiniteFuture();

ChromeTraceOptions Target(const std::string& target) {
  ChromeTraceOptions options;
  options.target = target;
  options.run_id = "run1";
  return options;
}

// Exports the batches and closes.
void ExportAll(ChromeTraceExporter* exporter, const std::vector<const EventBatch*>& batches,
               const SessionInfo& info = TestSession()) {
  ASSERT_TRUE(exporter->Open(info).ok());
  for (const EventBatch* batch : batches) ASSERT_TRUE(exporter->Export(*batch).ok());
  ExportProgress progress;
  for (const EventBatch* batch : batches) progress.events_built += batch->count();
  ASSERT_TRUE(exporter->Close(progress, kNoDeadline).ok());
}

rapidjson::Document ExportAndParse(const EventBatch& batch) {
  TempDir folder;
  ChromeTraceExporter exporter(Target(folder / "trace.json"));
  ExportAll(&exporter, {&batch});
  rapidjson::Document trace = ParseJson(ReadFile(folder / "trace.json"));
  EXPECT_FALSE(trace.HasParseError());
  return trace;
}

std::string Text(const rapidjson::Value& value) { return std::string(value.GetString(), value.GetStringLength()); }

TEST(ChromeTraceExporter, TellsTheSessionBothNamesOfItsFileOnceItIsOpen) {
  TempDir folder;
  std::vector<std::string> told;
  SessionInfo info = TestSession();
  info.file_opened = [&](const std::string& temporary, const std::string& path) { told = {temporary, path}; };
  ChromeTraceExporter exporter(Target(folder / "t.json"));
  ASSERT_TRUE(exporter.Open(info).ok());
  EXPECT_TRUE(told.empty());
  EventBatch batch;
  batch.events = {TestEvent("op", 0, 10)};
  ASSERT_TRUE(exporter.Export(batch).ok());
  EXPECT_EQ(told, (std::vector<std::string>{folder / "t.json.tmp", folder / "t.json"}));
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
}

TEST(ChromeTraceExporter, WritesExactlyTheseBytesForASmallTrace) {
  TempDir folder;
  EventBatch batch;
  batch.threads.push_back({1, 0, 917, "main \"loop\""});
  FunctionEvent forward = TestEvent("aten::mm", 1000, 32007);
  forward.id = 2;
  forward.name_id = 1;
  forward.sequence_nr = 41;
  ScopeDetails inputs;
  inputs.Tensor("float", {2, 3}, {3, 1}).Tensor("c10::Half", {}).None().Scalar(0.5).Scalar(2.0).Scalar(true).Scalar(-7);
  inputs.ScalarList({4, 5}).Keyword("k\"", "v").Keyword("stream", 7).Overload("out").Frame("a.py(1): f").Frame("main");
  EventDetails forward_details;
  forward_details.recorded = inputs.bytes();
  forward_details.flops = 30;
  forward.details = &forward_details;
  FunctionEvent step = TestEvent("ProfilerStep*", 0, 50000);
  EventDetails step_details;
  step_details.trace_name = "ProfilerStep#3";
  step.details = &step_details;
  step.id = 1;
  step.name_id = 2;
  step.is_user_annotation = true;
  FunctionEvent backward = TestEvent("MmBackward0", 60000, 61500, 918);
  backward.id = 3;
  backward.sequence_nr = 41;
  backward.fwd_thread = 1;
  backward.is_truncated = true;
  batch.events = {forward, step, backward};
  batch.links.push_back({1, 2, 3, forward.start_ns, backward.start_ns, 917, 918});
  InstantEvent loss;
  loss.kind = InstantEvent::Kind::kLoss;
  loss.time_ns = kSessionStartNs + 50001;
  loss.since_ns = kSessionStartNs + 49000;
  loss.value = 12;
  loss.device_resource_id = 917;
  InstantEvent counter;
  counter.kind = InstantEvent::Kind::kCounter;
  counter.name = "loss";
  counter.name_id = 4;
  counter.value = 0.25;
  counter.time_ns = kSessionStartNs + 50002;
  counter.device_resource_id = 917;
  batch.instants = {loss, counter};
  MemoryEvent memory;
  memory.time_ns = kSessionStartNs + 50003;
  memory.address = 140737488355328;
  memory.bytes = -4096;
  memory.total_allocated = 8192;
  memory.total_reserved = 2097152;
  memory.device_type = DeviceType::kCuda;
  memory.device_index = 0;
  memory.device_resource_id = 917;
  batch.memory = {memory};

  SessionInfo info = TestSession();
  info.backend = "nccl";
  info.has_rank = true;
  info.rank = 3;
  info.world_size = 8;
  info.options = {{"buffer_size", "64MB"}, {"record_shapes", "1"}};
  ChromeTraceExporter exporter(Target(folder / "trace-%r.json"));
  ASSERT_TRUE(exporter.Open(info).ok());
  ASSERT_TRUE(exporter.Export(batch).ok());
  ExportProgress progress;
  progress.events_built = 7;
  progress.lost[LossReason::kPoolExhausted] = 12;
  progress.links_made = 1;
  ASSERT_TRUE(exporter.Close(progress, kNoDeadline).ok());
  EXPECT_EQ(exporter.Destination(), folder / "trace-3.json");
  const std::string expected = R"json({
  "schemaVersion": 1,
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "host_name": "node-b",
  "trace_id": "E05F9632C7BA36755299FC9C70FC023A",
  "ferret_run_id": "run1",
  "ferret_pid": 900,
  "record_shapes": 1,
  "displayTimeUnit": "ns",
  "baseTimeNanoseconds": 1751410836000000000,
  "traceEvents": [
    {"name": "process_name", "ph": "M", "ts": 5589164123456.789, "pid": 900, "tid": 0, "args": {"name": "train"}},
    {"name": "process_labels", "ph": "M", "ts": 5589164123456.789, "pid": 900, "tid": 0, "args": {"labels": "CPU"}},
    {"name": "process_sort_index", "ph": "M", "ts": 5589164123456.789, "pid": 900, "tid": 0, "args": {"sort_index": 900}},
    {"name": "thread_name", "ph": "M", "ts": 5589164123456.789, "pid": 900, "tid": 917, "args": {"name": "thread 917 (main \"loop\")"}},
    {"name": "thread_sort_index", "ph": "M", "ts": 5589164123456.789, "pid": 900, "tid": 917, "args": {"sort_index": 917}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 900, "tid": 917, "ts": 5589164123457.789, "dur": 31.007, "args": {"External id": 2, "Record function id": 0, "Sequence number": 41, "Fwd thread id": 0, "Concrete Inputs": ["", "", "", "0.5", "2.", "True", "-7", "[4, 5]"], "Input type": ["float", "c10::Half", "", "Scalar", "Scalar", "Scalar", "Scalar", "ScalarList"], "Input Strides": [[3, 1], [], [], [], [], [], [], []], "Input Dims": [[2, 3], [], [], [], [], [], [], []], "k\"": "v", "stream": 7, "Call stack": "a.py(1): f;main", "Overload name": "out", "Flops": 30, "Ev Idx": 0}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 900, "tid": 917, "ts": 5589164123456.789, "dur": 50.000, "args": {"External id": 1, "Record function id": 0, "Ev Idx": 1}},
    {"ph": "X", "cat": "cpu_op", "name": "MmBackward0", "pid": 900, "tid": 918, "ts": 5589164123516.789, "dur": 1.500, "args": {"External id": 3, "Record function id": 0, "Sequence number": 41, "Fwd thread id": 1, "finished": "false", "Ev Idx": 2}},
    {"ph": "s", "id": 1, "pid": 900, "tid": 917, "ts": 5589164123457.789, "cat": "fwdbwd", "name": "fwdbwd"},
    {"ph": "f", "id": 1, "pid": 900, "tid": 918, "ts": 5589164123516.789, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
    {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "Ferret: scopes lost", "pid": 900, "tid": 917, "ts": 5589164123506.790, "args": {"lost": 12, "since": 5589164123505.789}},
    {"ph": "C", "name": "loss", "pid": 900, "tid": 917, "ts": 5589164123506.791, "args": {"value": 0.25}},
    {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 900, "tid": 917, "ts": 5589164123506.792, "args": {"Device Type": 1, "Device Id": 0, "Addr": 140737488355328, "Bytes": -4096, "Total Allocated": 8192, "Total Reserved": 2097152, "Ev Idx": 3}},
    {"ph": "X", "cat": "Trace", "ts": 5589164123456.789, "dur": 61.500, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 6}},
    {"name": "process_sort_index", "ph": "M", "ts": 5589164123456.789, "pid": "Spans", "tid": 0, "args": {"sort_index": 536870912}},
    {"name": "Ferret Record", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 5589164123518.289, "args": {"events": 6, "events_built": 7, "lost": {"pool_exhausted": 12, "total": 12}, "links_made": 1, "links_evicted": 0, "links_unmatched": 0, "links_hurried": 0, "ends_refused": 0, "details_lost": 0, "remote_ends_unmatched": 0, "names_inline": 0, "clock_backward": 0, "clock_steps": 0, "options": {"buffer_size": "64MB", "record_shapes": "1"}}}
  ],
  "deviceProperties": [],
  "traceName": ")json" + (folder / "trace-3.json") + "\"\n}\n";
  EXPECT_EQ(ReadFile(folder / "trace-3.json"), expected);
}

TEST(ChromeTraceExporter, AnyNameReadsBackAndIllFormedOnesHaveTheirExactBytesInArgs) {
  std::vector<std::string> names;
  for (int byte = 0; byte < 256; ++byte) names.push_back({'n', static_cast<char>(byte), '!'});
  names.push_back(std::string(10000, 'x') + "\"");
  names.push_back(std::string(200000, '\x01'));
  names.push_back("");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  names.push_back(all);
  EventBatch batch;
  for (size_t i = 0; i < names.size(); ++i) {
    FunctionEvent event = TestEvent(names[i], static_cast<int64_t>(10 * i), static_cast<int64_t>(10 * i + 5));
    event.name_id = i % 2 == 0 ? static_cast<uint32_t>(i + 1) : 0;
    batch.events.push_back(event);
    InstantEvent instant;
    instant.kind = i % 2 == 0 ? InstantEvent::Kind::kCounter : InstantEvent::Kind::kInstant;
    instant.name = names[i];
    instant.name_id = event.name_id;
    instant.time_ns = event.start_ns;
    instant.device_resource_id = 917;
    batch.instants.push_back(instant);
  }
  const rapidjson::Document trace = ExportAndParse(batch);
  const auto events = EventsWith(trace, "cat", "cpu_op");
  ASSERT_EQ(events.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const rapidjson::Value& args = (*events[i])["args"];
    if (!args.HasMember("name_hex")) {
      EXPECT_EQ(Text((*events[i])["name"]), names[i]);
      continue;
    }
    const std::string hex = Text(args["name_hex"]);
    std::string bytes;
    for (size_t k = 0; k < hex.size(); k += 2) bytes += static_cast<char>(std::stoi(hex.substr(k, 2), nullptr, 16));
    EXPECT_EQ(bytes, names[i]);
  }
  EXPECT_EQ(EventsWith(trace, "ph", "C").size() + EventsWith(trace, "cat", "cpu_instant_event").size(), names.size());
}

TEST(ChromeTraceExporter, AFlowEndHasTextuallyTheTimeOfItsSlice) {
  EventBatch batch;
  batch.events = {TestEvent("f", 1050, 2000), TestEvent("b", 5000, 6000)};
  batch.links.push_back({7, 1, 2, kSessionStartNs + 1050, kSessionStartNs + 5000, 917, 917});
  TempDir folder;
  ChromeTraceExporter exporter(Target(folder / "t.json"));
  ExportAll(&exporter, {&batch});
  const std::string text = ReadFile(folder / "t.json");
  EXPECT_NE(text.find(R"("name": "f", "pid": 900, "tid": 917, "ts": 5589164123457.839, "dur": 0.950,)"), std::string::npos);
  EXPECT_NE(text.find(R"({"ph": "s", "id": 7, "pid": 900, "tid": 917, "ts": 5589164123457.839, "cat": "fwdbwd", "name": "fwdbwd"},)"),
            std::string::npos);
  EXPECT_NE(text.find(R"("ts": 5589164123461.789, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},)"), std::string::npos);
}

TEST(ChromeTraceExporter, ACounterThatIsNoNumberIsStillJson) {
  EventBatch batch;
  for (double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 0.1, 1e22}) {
    InstantEvent counter;
    counter.kind = InstantEvent::Kind::kCounter;
    counter.name = "loss";
    counter.value = value;
    counter.time_ns = kSessionStartNs;
    batch.instants.push_back(counter);
  }
  const rapidjson::Document trace = ExportAndParse(batch);
  const auto counters = EventsWith(trace, "ph", "C");
  ASSERT_EQ(counters.size(), 4u);
  EXPECT_EQ(Text((*counters[0])["args"]["value"]), "NaN");
  EXPECT_EQ(Text((*counters[1])["args"]["value"]), "Infinity");
  EXPECT_EQ((*counters[2])["args"]["value"].GetDouble(), 0.1);
  EXPECT_EQ((*counters[3])["args"]["value"].GetDouble(), 1e22);
}

TEST(ChromeTraceExporter, AsynchronousEventsNeverOverlapOnATrack) {
  std::mt19937 random(2);
  EventBatch batch;
  batch.threads.push_back({1, 0, 917, "rpc"});
  for (int i = 0; i < 5000; ++i) {
    const int64_t start = random() % 1000000;
    FunctionEvent event = TestEvent("future", start, start + random() % 2000, 917 + random() % 2);
    event.is_async = true;
    batch.events.push_back(event);
  }
  const rapidjson::Document trace = ExportAndParse(batch);
  std::map<int64_t, std::vector<std::pair<double, double>>> tracks;
  for (const rapidjson::Value* event : EventsWith(trace, "cat", "cpu_op")) {
    ASSERT_EQ(Text((*event)["ph"]), "X");
    const double ts = (*event)["ts"].GetDouble();
    tracks[(*event)["tid"].GetInt64()].emplace_back(ts, ts + (*event)["dur"].GetDouble());
  }
  std::set<int64_t> named;
  for (const rapidjson::Value* event : EventsWith(trace, "name", "thread_name")) {
    named.insert((*event)["tid"].GetInt64());
  }
  size_t count = 0;
  for (auto& [tid, slices] : tracks) {
    EXPECT_GT(tid, 4194304);
    EXPECT_EQ(named.count(tid), 1u) << tid;
    count += slices.size();
    std::sort(slices.begin(), slices.end());
    for (size_t i = 1; i < slices.size(); ++i) EXPECT_LE(slices[i - 1].second, slices[i].first + 0.0005) << tid;
  }
  EXPECT_EQ(count, 5000u);
}

TEST(ChromeTraceExporter, AsynchronousEventsBeyondTheLanesBecomePairs) {
  EventBatch batch;
  for (int i = 0; i < 510; ++i) {
    batch.events.push_back(TestEvent("f\xff", i, 100000 + i));
    batch.events.back().is_async = true;
  }
  const rapidjson::Document trace = ExportAndParse(batch);
  const auto begins = EventsWith(trace, "ph", "b");
  const auto ends = EventsWith(trace, "ph", "e");
  ASSERT_EQ(begins.size(), 10u);
  ASSERT_EQ(ends.size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ((*begins[i])["id"].GetInt64(), (*ends[i])["id"].GetInt64());
    EXPECT_LT((*begins[i])["ts"].GetDouble(), (*ends[i])["ts"].GetDouble());
    EXPECT_EQ(Text((*begins[i])["args"]["name_hex"]), "66ff");
  }
}

TEST(ChromeTraceExporter, AThreadIsNamedAgainWhenItsNameChanges) {
  EventBatch first;
  first.threads.push_back({1, 0, 917, ""});
  first.events.push_back(TestEvent("a", 0, 1));
  EventBatch second;
  second.threads.push_back({1, 0, 917, "loader"});
  TempDir folder;
  ChromeTraceExporter exporter(Target(folder / "t.json"));
  ExportAll(&exporter, {&first, &second});
  const rapidjson::Document trace = ParseJson(ReadFile(folder / "t.json"));
  const auto names = EventsWith(trace, "name", "thread_name");
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(Text((*names[0])["args"]["name"]), "thread 917 (train)");
  EXPECT_EQ(Text((*names[1])["args"]["name"]), "thread 917 (loader)");
}

TEST(ChromeTraceExporter, AProcessThatRecordedNothingLeavesNoFile) {
  TempDir folder;
  EventBatch threads_only;
  threads_only.threads.push_back({1, 0, 917, "main"});
  ChromeTraceExporter exporter(Target(folder / "sub/t.json"));
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  ASSERT_TRUE(exporter.Export(threads_only).ok());
  ASSERT_TRUE(exporter.Flush({}, kNoDeadline).ok());
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
  EXPECT_TRUE(folder.Files().empty());
  EXPECT_EQ(exporter.Destination(), "");
}

TEST(ChromeTraceExporter, AThreadThatWasAnnouncedBeforeTheFirstEventIsNamedInTheFile) {
  TempDir folder;
  EventBatch threads_only;
  threads_only.threads.push_back({1, 0, 917, "main"});
  EventBatch events;
  events.events.push_back(TestEvent("a", 0, 1));
  ChromeTraceExporter exporter(Target(folder / "t.json"));
  ExportAll(&exporter, {&threads_only, &events});
  EXPECT_NE(ReadFile(folder / "t.json").find("thread 917 (main)"), std::string::npos);
}

TEST(ChromeTraceExporter, TheFileIsCompleteAfterEveryFlushAndSaysWhatItHolds) {
  for (const char* name : {"t.json", "t.json.gz"}) {
    TempDir folder;
    ChromeTraceExporter exporter(Target(folder / name));
    ASSERT_TRUE(exporter.Open(TestSession()).ok());
    uint64_t events = 0;
    for (int round = 0; round < 40; ++round) {
      EventBatch batch;
      for (int i = 0; i < round * 30; ++i) batch.events.push_back(TestEvent("aten::add", round * 10, round * 10 + 5));
      ASSERT_TRUE(exporter.Export(batch).ok());
      events += batch.events.size();
      ExportProgress progress;
      progress.events_built = events;
      progress.lost[LossReason::kExporterDropped] = static_cast<uint64_t>(round);
      ASSERT_TRUE(exporter.Flush(progress, kNoDeadline).ok());
      if (events == 0) continue;
      std::string text = ReadFile(folder / (std::string(name) + ".tmp"));
      if (std::string(name) == "t.json.gz") {
        const Inflated inflated = Gunzip(text);
        ASSERT_TRUE(inflated.whole);
        text = inflated.text;
      }
      const rapidjson::Document trace = ParseJson(text);
      ASSERT_FALSE(trace.HasParseError()) << round;
      EXPECT_EQ(EventsWith(trace, "cat", "cpu_op").size(), events);
      const rapidjson::Value& last = *(trace["traceEvents"].End() - 1);
      EXPECT_EQ(Text(last["name"]), "Ferret Record");
      EXPECT_EQ(last["args"]["events"].GetUint64(), events);
      EXPECT_EQ(last["args"]["lost"]["total"].GetInt(), round);
    }
    ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
    EXPECT_EQ(folder.Files(), std::vector<std::string>{name});
  }
}

TEST(ChromeTraceExporter, ASplitTraceHasEveryEventOnceAndEachPartIsATrace) {
  TempDir folder;
  ChromeTraceOptions options = Target(folder / "t.json");
  options.max_part_bytes = 200000;
  ChromeTraceExporter exporter(options);
  std::vector<EventBatch> batches(10);
  batches[0].threads.push_back({1, 0, 917, "main"});
  for (EventBatch& batch : batches) {
    for (int i = 0; i < 500; ++i) batch.events.push_back(TestEvent("aten::add", i, i + 1));
  }
  std::vector<const EventBatch*> all;
  for (const EventBatch& batch : batches) all.push_back(&batch);
  ExportAll(&exporter, all);
  std::set<int64_t> ids;
  const std::vector<std::string> files = folder.Files();
  EXPECT_GE(files.size(), 4u);
  for (size_t part = 1; part <= files.size(); ++part) {
    const std::string text = ReadFile(folder / ("t-part" + std::to_string(part) + ".json"));
    EXPECT_LE(text.size(), 200000u + 2 * kPieceBytes);
    const rapidjson::Document trace = ParseJson(text);
    ASSERT_FALSE(trace.HasParseError()) << part;
    const auto events = EventsWith(trace, "cat", "cpu_op");
    for (const rapidjson::Value* event : events) {
      EXPECT_TRUE(ids.insert((*event)["args"]["External id"].GetInt64()).second);
    }
    EXPECT_EQ(EventsWith(trace, "name", "thread_name").size(), 1u) << part;
    const rapidjson::Value& record = (*EventsWith(trace, "name", "Ferret Record")[0])["args"];
    EXPECT_EQ(record["events"].GetUint64(), events.size());
    EXPECT_EQ(record["part"].GetUint64(), part);
  }
  EXPECT_EQ(ids.size(), 5000u);
}

// Refuses everything beyond `limit` bytes of a file.
class SmallDisk final : public FileIo {
 public:
  ssize_t PWrite(int fd, const char* data, size_t size, int64_t offset) override {
    if (offset + static_cast<int64_t>(size) <= limit) return FileIo::PWrite(fd, data, size, offset);
    errno = ENOSPC;
    return -1;
  }
  int64_t limit = 0;
};

TEST(ChromeTraceExporter, OnAFullDiskEachBatchIsEitherRefusedOrInTheFileInTheEnd) {
  TempDir folder;
  SmallDisk disk;
  disk.limit = 300000;
  ChromeTraceOptions options = Target(folder / "t.json");
  options.io = &disk;
  ChromeTraceExporter exporter(options);
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  size_t accepted = 0;
  size_t refused = 0;
  for (int round = 0; round < 40; ++round) {
    if (round == 30) disk.limit = 100000000;
    EventBatch batch;
    for (int i = 0; i < 300; ++i) batch.events.push_back(TestEvent("aten::add", i, i + 1));
    const absl::Status status = exporter.Export(batch);
    (status.ok() ? accepted : refused) += batch.events.size();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    }
    exporter.Flush({}, kNoDeadline).IgnoreError();
    EXPECT_FALSE(ParseJson(ReadFile(folder / "t.json.tmp")).HasParseError()) << round;
  }
  EXPECT_GT(refused, 0u);
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
  const rapidjson::Document trace = ParseJson(ReadFile(folder / "t.json"));
  EXPECT_EQ(EventsWith(trace, "cat", "cpu_op").size(), accepted);
}

TEST(ChromeTraceExporter, RanksMayShareADevice) {
  SessionInfo info = TestSession();
  info.has_rank = true;
  info.rank = 1;
  EventBatch batch;
  batch.events.push_back(TestEvent("a", 0, 1));
  ChromeTraceExporter exporter(Target("/dev/null"));
  ExportAll(&exporter, {&batch}, info);
  EXPECT_EQ(exporter.Destination(), "/dev/null");
  EXPECT_NE(access("/dev/null.tmp", F_OK), 0);
}

TEST(ChromeTraceExporter, AFifoGetsTheWholeTrace) {
  TempDir folder;
  const std::string path = folder / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string text;
  std::thread reader([&] { text = ReadFile(path); });
  EventBatch batch;
  for (int i = 0; i < 2000; ++i) batch.events.push_back(TestEvent("a", i, i + 1));
  {
    ChromeTraceExporter exporter(Target(path));
    ExportAll(&exporter, {&batch});
  }
  reader.join();
  const rapidjson::Document trace = ParseJson(text);
  ASSERT_FALSE(trace.HasParseError());
  EXPECT_EQ(EventsWith(trace, "cat", "cpu_op").size(), 2000u);
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"fifo"});
}

TEST(ChromeTraceExporter, ATargetThatCannotBeWrittenIsRefusedAtTheStart) {
  TempDir folder;
  ChromeTraceExporter directory(Target(folder.path()));
  EXPECT_FALSE(directory.Open(TestSession()).ok());
  ChromeTraceExporter below_a_file(Target("/dev/null/t.json"));
  const absl::Status status = below_a_file.Open(TestSession());
  EXPECT_NE(std::string(status.message()).find("/dev/null/t.json"), std::string::npos) << status;
}

TEST(ChromeTraceExporter, ARelativeTargetStaysWhereTheSessionStarted) {
  TempDir folder;
  char before[4096];
  ASSERT_NE(getcwd(before, sizeof(before)), nullptr);
  ASSERT_EQ(chdir(folder.path().c_str()), 0);
  ChromeTraceExporter exporter(Target("t.json"));
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  ASSERT_EQ(chdir("/"), 0);
  EventBatch batch;
  batch.events.push_back(TestEvent("a", 0, 1));
  ASSERT_TRUE(exporter.Export(batch).ok());
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
  ASSERT_EQ(chdir(before), 0);
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"t.json"});
  EXPECT_EQ(exporter.Destination(), "t.json");
}

ExporterSpec Spec(std::vector<std::pair<std::string, std::string>> parameters, const std::string& target = "") {
  ExporterSpec spec;
  spec.name = "chrome_trace";
  spec.target = target;
  spec.parameters = std::move(parameters);
  return spec;
}

TEST(ChromeTraceOptions, ParametersAreRead) {
  const auto options = ParseChromeTraceOptions(Spec({{"level", "6"}, {"split", "300MB"}}, "a-%p.json.gz"));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->target, "a-%p.json.gz");
  EXPECT_EQ(options->gzip_level, 6);
  EXPECT_EQ(options->max_part_bytes, 300000000u);
  EXPECT_EQ(ParseChromeTraceOptions(Spec({}))->target, "trace.json");
  EXPECT_EQ(ParseChromeTraceOptions(Spec({{"split", "0"}}))->max_part_bytes, 0u);
  EXPECT_EQ(ParseChromeTraceOptions(Spec({{"split", "1GiB"}}))->max_part_bytes, uint64_t{1} << 30);
}

TEST(ChromeTraceOptions, AnErrorNamesTheParameterItsValueAndWhatIsAllowed) {
  const auto message = [](const ExporterSpec& spec) {
    return std::string(ParseChromeTraceOptions(spec).status().message());
  };
  EXPECT_NE(message(Spec({{"split", "lots"}})).find("split=lots is not a size"), std::string::npos);
  EXPECT_NE(message(Spec({{"split", "99999999999999999999GB"}})).find("split="), std::string::npos);
  EXPECT_NE(message(Spec({{"split", "10kB"}})).find("1MB"), std::string::npos);
  EXPECT_NE(message(Spec({{"level", "11"}})).find("11"), std::string::npos);
  EXPECT_NE(message(Spec({{"levle", "1"}})).find("levle"), std::string::npos);
  EXPECT_NE(message(Spec({}, "t%z.json")).find("%z"), std::string::npos);
  EXPECT_FALSE(ChromeTraceExporter::Create(Spec({}, "t%z.json")).ok());
  EXPECT_TRUE(ChromeTraceExporter::Create(Spec({})).ok());
}

}  // namespace
}  // namespace ferret
