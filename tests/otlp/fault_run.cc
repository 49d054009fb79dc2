// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/otlp/fault_run.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "exporters/otlp/delivery/spill_format.h"
#include "exporters/otlp/make_transport.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/otlp/decoded.h"
#include "tests/otlp/variables.h"

namespace ferret::otlp {
namespace {

constexpr int kStepsEach = 3;
constexpr int kOpsEach = 40;
// Ferret promises a bound; a machine with other things to do adds to it. What hangs would take for ever.
constexpr absl::Duration kSlack = absl::Seconds(20);

std::string Gunzip(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(size_t{1} << 24, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

// "8,000 spans …" is 8000.
uint64_t NumberAt(const std::string& line, size_t at) {
  uint64_t number = 0;
  for (; at < line.size() && (line[at] == ',' || (line[at] >= '0' && line[at] <= '9')); ++at) {
    if (line[at] != ',') number = number * 10 + static_cast<uint64_t>(line[at] - '0');
  }
  return number;
}

}  // namespace

FaultServer::Script SpanLedger::Script(std::function<FaultAnswer(const FaultRequest&, size_t)> script) {
  return [this, script = std::move(script)](const FaultRequest& request) {
    // Empty if the server does not read bodies.
    const bool gzip = request.Header("content-encoding") == "gzip";
    const std::vector<DecodedSpan> spans = SpansOf(Decode(gzip ? Gunzip(request.body) : request.body));
    const FaultAnswer answer = script(request, spans.size());
    if (!answer.taken) return answer.reply;
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(spans.empty());
    delivered_ += spans.size() - answer.rejected;
    rejected_ += answer.rejected;
    for (const DecodedSpan& span : spans) {
      if (!ids_.insert(span.trace_id() + span.span_id()).second) twice_ = true;
      if (span.name() != "Ferret Record") continue;
      for (const auto& attribute : span.attributes()) {
        if (attribute.key() == "ferret.spans.sent") sent_ = attribute.value().int_value();
      }
    }
    return answer.reply;
  };
}

uint64_t SpanLedger::delivered() const {
  const std::lock_guard lock(mutex_);
  return delivered_;
}
uint64_t SpanLedger::rejected() const {
  const std::lock_guard lock(mutex_);
  return rejected_;
}
std::set<std::string> SpanLedger::ids() const {
  const std::lock_guard lock(mutex_);
  return ids_;
}
bool SpanLedger::any_twice() const {
  const std::lock_guard lock(mutex_);
  return twice_;
}
int64_t SpanLedger::sent() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}

// The real transport, and how often it failed.
class FaultRun::Watched final : public Transport {
 public:
  Watched(std::unique_ptr<Transport> transport, std::shared_ptr<Shared> shared)
      : transport_(std::move(transport)), shared_(std::move(shared)) {}

  SendOutcome Send(Signal signal, std::string_view body, RunnerClock::Time deadline) override {
    SendOutcome outcome = transport_->Send(signal, body, deadline);
    if (outcome.kind != SendOutcome::Kind::kDelivered) {
      const std::lock_guard lock(shared_->mutex);
      ++shared_->failures;
      shared_->changed.notify_all();
    }
    return outcome;
  }
  void Cancel() override { transport_->Cancel(); }
  Form form() const override { return transport_->form(); }
  std::string Destination() const override { return transport_->Destination(); }

 private:
  const std::unique_ptr<Transport> transport_;
  const std::shared_ptr<Shared> shared_;
};

FaultRun::FaultRun(const std::string& endpoint, const std::string& parameters) {
  const std::string text = "otlp:" + endpoint + "?detail=all&metrics=off" +
                           (parameters.find("batch=") == parameters.npos ? "&batch=48" : "") +
                           (parameters.empty() ? "" : "&" + parameters);
  const auto specs = ParseExporterSpecs(text);
  EXPECT_TRUE(specs.ok()) << specs.status();
  const Variables none;
  absl::StatusOr<OtlpConfig> config = ReadOtlpConfig(specs->at(0), Environment(none));
  EXPECT_TRUE(config.ok()) << config.status();
  OtlpOptions options;
  options.config = *std::move(config);
  options.run_id = kRunId;
  options.least_cut_bytes = 0;  // the requests are small
  options.diagnostic = [shared = shared_](const std::string& line) {
    const std::lock_guard lock(shared->mutex);
    shared->lines.push_back(line);
    shared->changed.notify_all();
  };
  options.make_transport = [shared = shared_](const OtlpConfig& what, Protocol protocol,
                                              RunnerClock* clock) -> absl::StatusOr<std::unique_ptr<Transport>> {
    absl::StatusOr<std::unique_ptr<Transport>> transport = MakeTransport(what, protocol, clock);
    if (!transport.ok()) return transport.status();
    return std::make_unique<Watched>(*std::move(transport), shared);
  };
  exporter_ = std::make_unique<OtlpExporter>(std::move(options));
  const absl::Status opened = exporter_->Open(TestInfo());
  EXPECT_TRUE(opened.ok()) << opened;
}

void FaultRun::Record() {
  for (int step = 0; step < kStepsEach; ++step) {
    EventBatch batch;
    const int64_t number = records_ * kStepsEach + step;
    const int64_t start_ns = kStartNs + number * 1'000'000;
    const auto add = [&](std::string_view name, int64_t from_ns, int64_t to_ns) {
      FunctionEvent event;
      event.id = next_id_++;
      event.name = name;
      event.start_ns = from_ns;
      event.end_ns = to_ns;
      event.thread = 1;
      event.device_resource_id = 917;
      batch.events.push_back(event);
    };
    for (int op = 0; op < kOpsEach; ++op) add("aten::mm", start_ns + op * 1000, start_ns + op * 1000 + 900);
    add("ProfilerStep*", start_ns, start_ns + 900'000);
    batch.details.emplace_back();
    const std::string name = "ProfilerStep#" + std::to_string(number);
    batch.details.back().trace_name = name;
    batch.events.back().details = &batch.details.back();
    events_ += batch.count();
    EXPECT_TRUE(exporter_->Export(batch).ok());
  }
  ++records_;
  // Also of steps that have only just ended, and without a wait.
  exporter_->Flush({}, absl::InfinitePast()).IgnoreError();
}

void FaultRun::Flush() {
  const absl::Status flushed = exporter_->Flush({}, absl::InfiniteFuture());
  EXPECT_TRUE(flushed.ok()) << flushed;
}

void FaultRun::Close(absl::Duration time) {
  const absl::Time deadline = absl::Now() + time;
  const absl::Status closed = exporter_->Close({}, deadline);
  in_time_ = absl::Now() < deadline + kSlack;
  // An exporter says by its status whether all of it arrived, or is on disk.
  EXPECT_EQ(closed.ok(), not_delivered() == 0) << closed;
}

void FaultRun::WaitForFailures(int count) {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->failures >= count; });
}

void FaultRun::WaitForLine() {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return !shared_->lines.empty(); });
}

std::vector<std::string> FaultRun::lines() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lines;
}

// "2 requests (96 spans) could not be delivered to …"
uint64_t FaultRun::said_lost() const {
  uint64_t sum = 0;
  for (const std::string& line : lines()) {
    const size_t end = line.find(") could not be delivered");
    if (end != line.npos) sum += NumberAt(line, line.rfind('(', end) + 1);
  }
  return sum;
}

// "http://… did not take 2 spans: …"
uint64_t FaultRun::said_rejected() const {
  constexpr std::string_view kBefore = "did not take ";
  uint64_t sum = 0;
  for (const std::string& line : lines()) {
    const size_t at = line.find(kBefore);
    if (at != line.npos) sum += NumberAt(line, at + kBefore.size());
  }
  return sum;
}

uint64_t SpansOnDisk(const std::string& directory) {
  if (directory.empty() || !std::filesystem::exists(directory)) return 0;
  uint64_t spans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string file = ReadFile(entry.path().string());
    const absl::StatusOr<SpillContents> contents = ReadSpillFile(file);
    EXPECT_TRUE(contents.ok()) << contents.status();
    if (!contents.ok()) continue;
    EXPECT_EQ(contents->damaged_bytes, 0u);
    for (const SpillEntry& record : contents->entries) {
      if (!record.taken) spans += SpansOf(Decode(ParseSpillRecord(file.substr(record.offset, record.size))->body)).size();
    }
  }
  return spans;
}

const std::set<std::string>& Produced(int records) {
  static auto* const known = new std::map<int, std::set<std::string>>;
  const auto found = known->find(records);
  if (found != known->end()) return found->second;
  SpanLedger ledger;
  FaultServer server(ledger.Script([](const FaultRequest&, size_t) { return Taken(); }));
  FaultRun run(server.Url(""));
  for (int i = 0; i < records; ++i) run.Record();
  run.Close(absl::Hours(1));
  EXPECT_EQ(run.lines(), std::vector<std::string>());
  EXPECT_FALSE(ledger.any_twice());
  // The exporter's own count is what arrived, and there is every event among it.
  EXPECT_EQ(ledger.sent(), static_cast<int64_t>(ledger.delivered()));
  EXPECT_GT(ledger.delivered(), run.events());
  return known->emplace(records, ledger.ids()).first->second;
}

void ExpectBalanced(const FaultRun& run, const SpanLedger& ledger, const std::string& spill_directory) {
  const std::set<std::string>& produced = Produced(run.records());
  std::string said;
  for (const std::string& line : run.lines()) said += line + "\n";
  EXPECT_EQ(ledger.delivered() + ledger.rejected() + run.said_lost() + SpansOnDisk(spill_directory), produced.size())
      << said;
  EXPECT_EQ(run.said_rejected(), ledger.rejected()) << said;
  EXPECT_EQ(run.not_delivered(), std::min(run.said_lost() + run.said_rejected(), run.events())) << said;
  EXPECT_FALSE(ledger.any_twice());
  for (const std::string& id : ledger.ids()) EXPECT_EQ(produced.count(id), 1u);
  // One line for each interval, of which the end is one.
  EXPECT_LE(run.lines().size(), 2u) << said;
  EXPECT_TRUE(run.in_time());
}

}  // namespace ferret::otlp
