// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The exporter over a transport that takes what it is told to.

#include "exporters/otlp/otlp_exporter.h"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/otlp/decoded_metrics.h"
#include "tests/otlp/delivery_fakes.h"

namespace ferret::otlp {
namespace {

class ExporterRun {
 public:
  explicit ExporterRun(const std::string& parameters = "") {
    const std::vector<ExporterSpec> specs = *ParseExporterSpecs("otlp" + parameters);
    options_.config = *ReadOtlpConfig(specs[0], [](const char*) -> const char* { return nullptr; });
    options_.run_id = kRunId;
    options_.clock = clock;
    options_.diagnostic = [lines = lines](const std::string& line) { lines->Add(line); };
    receiver->form = Form::kProtobuf;
    options_.make_transport = [this](const OtlpConfig&, Protocol protocol,
                                     RunnerClock*) -> absl::StatusOr<std::unique_ptr<Transport>> {
      protocols.insert(protocol);
      return std::make_unique<FakeTransport>(receiver);
    };
    clock->FlowFor(absl::ZeroDuration());
  }

  void Open() {
    exporter = std::make_unique<OtlpExporter>(options_);
    ASSERT_TRUE(exporter->Open(TestInfo()).ok());
  }
  // An operator in a step of its own.
  void Step(int64_t number) {
    EventBatch batch;
    batch.sequence = ++last_batch_;
    FunctionEvent op;
    op.id = ++last_id_;
    op.name = "aten::mm";
    op.start_ns = kStartNs + number * 1000;
    op.end_ns = op.start_ns + 400;
    batch.events.push_back(op);
    const std::string name = "ProfilerStep#" + std::to_string(number);
    batch.details.emplace_back().trace_name = name;
    FunctionEvent step = op;
    step.id = ++last_id_;
    step.name = "ProfilerStep*";
    step.end_ns = op.start_ns + 1000;
    step.details = &batch.details.back();
    batch.events.push_back(step);
    ASSERT_TRUE(exporter->Export(batch).ok());
  }
  void Op(int64_t start_ns = kStartNs) {
    EventBatch batch;
    batch.sequence = ++last_batch_;
    FunctionEvent op;
    op.id = ++last_id_;
    op.name = "aten::add";
    op.start_ns = start_ns;
    op.end_ns = start_ns + 100;
    batch.events.push_back(op);
    ASSERT_TRUE(exporter->Export(batch).ok());
  }
  absl::Status Flush() { return exporter->Flush({}, absl::Now() + absl::Hours(1)); }
  absl::Status Close() { return exporter->Close({}, absl::Now() + absl::Hours(1)); }

  std::multiset<std::string> Spans() const {
    std::multiset<std::string> names;
    for (const Receiver::Call& call : receiver->calls()) {
      if (call.signal != Signal::kTraces) continue;
      for (const DecodedSpan& span : SpansOf(Decode(call.body))) names.insert(span.name());
    }
    return names;
  }
  // Values by metric: the count of a histogram, or the latest number.
  std::map<std::string, int64_t> Metrics() const {
    std::map<std::string, int64_t> values;
    for (const Receiver::Call& call : receiver->calls()) {
      if (call.signal != Signal::kMetrics) continue;
      for (const otlp_test::Metric& metric : MetricsOf(DecodeMetrics(call.body))) {
        for (const auto& point : metric.exponential_histogram().data_points()) {
          values[metric.name()] += static_cast<int64_t>(point.count());
        }
        for (const auto& point : metric.sum().data_points()) values[metric.name()] = point.as_int();
      }
    }
    return values;
  }

  FlowingClock* const clock = FlowingClock::Create();
  Receiver* const receiver = Receiver::Create(clock);
  Lines* const lines = Lines::Create();
  std::multiset<Protocol> protocols;
  std::unique_ptr<OtlpExporter> exporter;

 private:
  OtlpOptions options_;
  int64_t last_id_ = 0;
  uint64_t last_batch_ = 0;
};

TEST(OtlpExporter, SendsTheRunItsStepsAndItsRecord) {
  ExporterRun run("?every=1");
  run.Open();
  run.Step(0);
  run.Step(1);
  ASSERT_TRUE(run.Close().ok());
  EXPECT_EQ(run.Spans(), (std::multiset<std::string>{"Ferret Record", "Ferret Run", "ProfilerStep", "ProfilerStep",
                                                     "aten::mm", "aten::mm"}));
  EXPECT_EQ(run.Metrics()["ferret.op.duration"], 2);
  EXPECT_EQ(run.Metrics()["ferret.step.duration"], 2);
  EXPECT_EQ(run.exporter->NotDelivered(), 0u);
  EXPECT_EQ(run.protocols.size(), 1u) << "both signals go over one connection";
}

TEST(OtlpExporter, AProcessThatRecordsNothingSendsNothing) {
  ExporterRun run;
  run.Open();
  ASSERT_TRUE(run.Close().ok());
  EXPECT_TRUE(run.receiver->calls().empty());
}

TEST(OtlpExporter, WithoutTracesStepsAreStillMeasured) {
  ExporterRun run("?traces=off");
  run.Open();
  for (int64_t step = 0; step < 3; ++step) run.Step(step);
  ASSERT_TRUE(run.Close().ok());
  EXPECT_TRUE(run.Spans().empty());
  EXPECT_EQ(run.Metrics()["ferret.step.duration"], 3);
}

TEST(OtlpExporter, WithoutMetricsNoneAreSent) {
  ExporterRun run("?metrics=off");
  run.Open();
  run.Step(0);
  ASSERT_TRUE(run.Close().ok());
  EXPECT_TRUE(run.Metrics().empty());
  EXPECT_FALSE(run.Spans().empty());
}

TEST(OtlpExporter, AFlushThatIsWaitedForSendsAlsoWhatIsInNoStep) {
  ExporterRun run;
  run.Open();
  run.Op();
  ASSERT_TRUE(run.exporter->FlushInBackground({}, absl::InfiniteFuture()).ok());
  EXPECT_TRUE(run.exporter->NeedsFlush());
  EXPECT_EQ(run.Spans().count("aten::add"), 0u);
  ASSERT_TRUE(run.Flush().ok());
  EXPECT_EQ(run.Spans().count("aten::add"), 1u);
  ASSERT_TRUE(run.Close().ok());
}

TEST(OtlpExporter, ProgramsWithoutStepsSendWhatTheyHaveAfterAnInterval) {
  ExporterRun run("?interval=60s");
  run.Open();
  run.Op();
  run.clock->Advance(absl::Seconds(60));
  ASSERT_TRUE(run.exporter->FlushInBackground({}, absl::InfiniteFuture()).ok());
  run.receiver->WaitForCalls(2);  // spans and metrics
  EXPECT_EQ(run.Spans().count("aten::add"), 1u);
  EXPECT_EQ(run.Metrics()["ferret.op.duration"], 1);
  ASSERT_TRUE(run.Flush().ok());  // it has answered
  EXPECT_FALSE(run.exporter->NeedsFlush());
  ASSERT_TRUE(run.Close().ok());
}

TEST(OtlpExporter, IsSettledUpToTheBatchesWhoseStepsTheReceiverHas) {
  ExporterRun run("?every=1");
  std::promise<void> answer;
  run.receiver->on_send = [answered = answer.get_future().share()](const Receiver::Call&) {
    answered.wait();
    return Delivered();
  };
  run.Open();
  run.Step(0);                  // batch 1
  run.Op(kStartNs + 1'000'500);  // batch 2: its step has not ended
  const auto flush = [&] { return run.exporter->FlushInBackground({}, absl::InfiniteFuture()); };
  ASSERT_TRUE(flush().ok());
  EXPECT_EQ(run.exporter->SettledBatch(), 0u);
  run.clock->Advance(absl::Seconds(20));  // the step is over, its request on its way
  ASSERT_TRUE(flush().ok());
  run.receiver->WaitForCalls(1);
  EXPECT_EQ(run.exporter->SettledBatch(), 0u);
  EXPECT_TRUE(run.exporter->NeedsFlush());
  answer.set_value();
  ASSERT_TRUE(run.Flush().ok());
  EXPECT_EQ(run.exporter->SettledBatch(), 1u);
  run.Step(1001);  // batch 3 has the end of a step that the op of batch 2 is not in: it is outside of steps
  ASSERT_TRUE(run.Flush().ok());
  EXPECT_EQ(run.exporter->SettledBatch(), UINT64_MAX);  // nothing waits
  ASSERT_TRUE(run.Close().ok());
}

TEST(OtlpExporter, TellsHowMuchMayWait) {
  ExporterRun run("?queue=9MB");
  run.Open();
  run.Step(0);
  ASSERT_TRUE(run.Close().ok());
  EXPECT_EQ(run.Metrics()["ferret.queue.capacity"], 9000000);
}

TEST(OtlpExporter, SignalsOfDifferentProtocolsHaveConnectionsOfTheirOwn) {
  ExporterRun run;
  std::map<std::string, std::string> variables = {{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json"}};
  OtlpOptions options;
  options.config = *ReadOtlpConfig((*ParseExporterSpecs("otlp"))[0], [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  options.clock = run.clock;
  std::vector<Protocol> protocols;
  options.make_transport = [&](const OtlpConfig&, Protocol protocol,
                               RunnerClock*) -> absl::StatusOr<std::unique_ptr<Transport>> {
    protocols.push_back(protocol);
    return std::make_unique<FakeTransport>(run.receiver);
  };
  OtlpExporter exporter(options);
  ASSERT_TRUE(exporter.Open(TestInfo()).ok());
  EXPECT_EQ(protocols, (std::vector<Protocol>{Protocol::kHttpProtobuf, Protocol::kHttpJson}));
  ASSERT_TRUE(exporter.Close({}, absl::Now() + absl::Hours(1)).ok());
}

TEST(OtlpExporter, OfARunThatNobodyGotNothingIsInTheOutput) {
  ExporterRun run;
  run.receiver->on_send = [](const Receiver::Call&) { return NotTaken(SendOutcome::Kind::kRefused, "HTTP 401: no"); };
  run.Open();
  for (int64_t step = 0; step < 5; ++step) run.Step(step);
  EXPECT_FALSE(run.Close().ok());
  EXPECT_EQ(run.exporter->NotDelivered(), 10u);
  ASSERT_FALSE(run.lines->all().empty());
  EXPECT_NE(run.lines->all()[0].find("HTTP 401: no"), std::string::npos);
}

TEST(OtlpExporter, AReceiverWithoutMetricsHasEverythingThatItWants) {
  ExporterRun run;
  run.receiver->on_send = [](const Receiver::Call& call) {
    return call.signal == Signal::kMetrics ? NotTaken(SendOutcome::Kind::kUnsupported, "HTTP 404") : Delivered();
  };
  run.Open();
  run.Step(0);
  EXPECT_TRUE(run.Close().ok());
  EXPECT_EQ(run.exporter->NotDelivered(), 0u);
}

TEST(OtlpExporter, AnErrorOfTheTransportIsOneOfOpen) {
  OtlpOptions options;
  options.make_transport = [](const OtlpConfig&, Protocol, RunnerClock*) -> absl::StatusOr<std::unique_ptr<Transport>> {
    return absl::NotFoundError("no libcurl");
  };
  OtlpExporter exporter(options);
  EXPECT_EQ(exporter.Open(TestInfo()).message(), "no libcurl");
  OtlpOptions off = options;
  for (SignalConfig& signal : off.config.signals) signal.enabled = false;
  EXPECT_TRUE(absl::IsFailedPrecondition(OtlpExporter(off).Open(TestInfo())));
}

}  // namespace
}  // namespace ferret::otlp
