// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What exporters execute for an event: plain ones, and operators with a thread, a sequence number and, every other one, a
// link. Nothing reaches a disk or a network.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/batch_spans.h"
#include "exporters/otlp/spans/json_encoder.h"
#include "exporters/otlp/spans/span_encoder.h"
#include "exporters/table/aggregate.h"
#include "tests/instructions/work.h"

namespace ferret {
namespace {

constexpr int kEvents = 2048;
constexpr int kNames = 128;
constexpr int kRuns = 3;  // each Run handles the batch so often
constexpr int64_t kStartNs = 1751410836123456789;

enum class Kind { kPlain, kOp };

// Names of framework length, times that go on, the same in every run.
class FixedBatch {
 public:
  explicit FixedBatch(Kind kind) {
    const char* const stems[] = {"aten::add_", "aten::_foreach_lerp_", "aten::native_layer_norm_backward",
                                 "autograd::engine::evaluate_function: AddmmBackward"};
    names_.reserve(kNames);
    for (int i = 0; i < kNames; ++i) names_.push_back(stems[i % 4] + std::to_string(i));
    batch.threads.push_back({1, 0, 4000, "pt_autograd_0"});
    uint64_t seed = 1;
    int64_t now = kStartNs;
    for (int i = 0; i < kEvents; ++i) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      const auto random = static_cast<uint32_t>(seed >> 33);
      FunctionEvent event;
      event.id = i + 1;
      event.parent_id = i / 2;
      event.name_id = 1 + random % kNames;
      event.name = names_[event.name_id - 1];
      now += 200 + random % 4000;
      event.start_ns = now;
      event.end_ns = now + 100 + random % 90000;
      event.self_ns = 50;
      event.thread = 1;
      event.device_resource_id = 4000;
      if (kind == Kind::kOp) {
        event.sequence_nr = i / 4;
        if (i % 2 == 1) {
          event.fwd_thread = 1;
          event.forward_id = i / 2 + 1;
        }
      }
      batch.events.push_back(event);
    }
  }

  EventBatch batch;

 private:
  std::vector<std::string> names_;
};

SessionInfo Info() {
  SessionInfo info;
  info.start_ns = kStartNs;
  info.pid = 4000;
  info.process_name = "python3";
  info.host_name = "node-b";
  return info;
}

class BatchWork : public Work {
 public:
  explicit BatchWork(Kind kind) : fixed_(kind) {}
  void Prepare() override { Run(); }
  void Run() override {
    for (int i = 0; i < kRuns; ++i) Take(fixed_.batch);
  }
  int64_t units() const override { return int64_t{kRuns} * kEvents; }

 protected:
  virtual void Take(const EventBatch& batch) = 0;
  const EventBatch& batch() const { return fixed_.batch; }

 private:
  FixedBatch fixed_;
};

class TableWork final : public BatchWork {
 public:
  using BatchWork::BatchWork;

 private:
  void Take(const EventBatch& batch) override {
    for (const FunctionEvent& event : batch.events) aggregate_.Add(event);
  }
  table::Aggregate aggregate_{{}, 4096};
};

// Takes everything and keeps nothing.
class NullIo final : public FileIo {
 public:
  ssize_t PWrite(int, const char*, size_t size, int64_t) override { return static_cast<ssize_t>(size); }
  ssize_t Write(int, const char*, size_t size) override { return static_cast<ssize_t>(size); }
  int Truncate(int, int64_t) override { return 0; }
};

class ChromeTextWork final : public BatchWork {
 public:
  explicit ChromeTextWork(Kind kind) : BatchWork(kind) {
    const char* const folder = std::getenv("TEST_TMPDIR");
    ChromeTraceOptions options;
    options.target = std::string(folder != nullptr ? folder : "/tmp") + "/counted_trace.json";
    options.run_id = "run";
    options.io = &io_;
    exporter_ = std::make_unique<ChromeTraceExporter>(options);
    if (!exporter_->Open(Info()).ok()) std::abort();
  }
  ~ChromeTextWork() override { (void)exporter_->Close({}, absl::InfiniteFuture()); }

 private:
  void Take(const EventBatch& batch) override {
    if (!exporter_->Export(batch).ok()) std::abort();
  }
  NullIo io_;
  std::unique_ptr<ChromeTraceExporter> exporter_;
};

template <typename Encoder>
class SpanWork final : public BatchWork {
 public:
  explicit SpanWork(Kind kind)
      : BatchWork(kind),
        ids_(otlp::KeyOf(Info(), "run")),
        encoder_(ids_.trace_id(), otlp::Resource(Info(), "run", "python3", {})),
        spans_(ids_, &encoder_) {
    spans_.Note(batch());
  }

 private:
  void Take(const EventBatch& batch) override {
    encoder_.Clear();
    for (const FunctionEvent& event : batch.events) spans_.AddEvent(event);
    if (encoder_.Finish().bytes.empty()) std::abort();
  }
  otlp::SpanIds ids_;
  Encoder encoder_;
  otlp::BatchSpans<Encoder> spans_;
};

}  // namespace

std::unique_ptr<Work> ExporterWork(std::string_view name) {
  if (name == "table") return std::make_unique<TableWork>(Kind::kPlain);
  if (name == "chrome_text") return std::make_unique<ChromeTextWork>(Kind::kPlain);
  if (name == "otlp_protobuf_plain") return std::make_unique<SpanWork<otlp::SpanEncoder>>(Kind::kPlain);
  if (name == "otlp_protobuf_op") return std::make_unique<SpanWork<otlp::SpanEncoder>>(Kind::kOp);
  if (name == "otlp_json_plain") return std::make_unique<SpanWork<otlp::JsonEncoder>>(Kind::kPlain);
  return nullptr;
}

}  // namespace ferret
