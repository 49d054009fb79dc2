// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FaultRun: a small run through the whole `otlp` exporter, over its real transport, and the books of its spans as they are
// seen from outside: what a receiver has, what the lines on standard error say, what is on disk.
//
//     SpanLedger there;
//     FaultServer server(there.Script([](const FaultRequest&) { return Answer(503); }));
//     FaultRun run(server.Url(""), "timeout=300ms");
//     run.Record();
//     run.Close();
//     ExpectBalanced(run, there);

#ifndef FERRET_TESTS_OTLP_FAULT_RUN_H_
#define FERRET_TESTS_OTLP_FAULT_RUN_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/otlp/otlp_exporter.h"
#include "tests/otlp/fault_server.h"

namespace ferret::otlp {

struct FaultAnswer {
  // Not explicit: a reply says it all, as a rule.
  FaultAnswer(FaultReply with) : reply(std::move(with)) {}
  FaultAnswer(FaultReply with, bool is_taken, uint64_t are_rejected = 0)
      : reply(std::move(with)), taken(is_taken), rejected(are_rejected) {}

  FaultReply reply;
  bool taken = false;
  uint64_t rejected = 0;  // of the spans of a request that is taken
};

inline FaultAnswer Taken() { return {Answer(200), true}; }

// What a receiver has taken. Any thread.
class SpanLedger {
 public:
  // For a FaultServer: does as `script` says, and remembers the spans of what it takes.
  FaultServer::Script Script(std::function<FaultAnswer(const FaultRequest& request, size_t spans)> script);

  uint64_t delivered() const;  // spans, less those that were rejected
  uint64_t rejected() const;
  std::set<std::string> ids() const;  // of the spans
  bool any_twice() const;
  int64_t sent() const;  // `ferret.spans.sent` of the last span of the run; -1 if it has not come

 private:
  mutable std::mutex mutex_;
  uint64_t delivered_ = 0;
  uint64_t rejected_ = 0;
  std::set<std::string> ids_;
  bool twice_ = false;
  int64_t sent_ = -1;
};

class FaultRun {
 public:
  // `parameters` as in FERRET_EXPORT, on top of those that make the run small.
  explicit FaultRun(const std::string& endpoint, const std::string& parameters = "");

  // Some steps, each with operators, in requests of a few dozen spans. More than once: the run goes on.
  void Record();
  // Waits until all of it is decided.
  void Flush();
  void Close(absl::Duration time = absl::Seconds(2));

  // Until so many requests were not taken.
  void WaitForFailures(int count);
  void WaitForLine();

  // Once closed:
  bool in_time() const { return in_time_; }
  std::vector<std::string> lines() const;
  uint64_t said_lost() const;  // spans, as the lines say it
  uint64_t said_rejected() const;
  uint64_t not_delivered() const { return exporter_->NotDelivered(); }
  uint64_t events() const { return events_; }
  int records() const { return records_; }

 private:
  class Watched;
  // What the exporter and its transport may still use when they were left behind.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    int failures = 0;
    std::vector<std::string> lines;
  };

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::unique_ptr<Exporter> exporter_;
  int64_t next_id_ = 1;
  uint64_t events_ = 0;
  int records_ = 0;
  bool in_time_ = false;
};

// Spans of untaken requests in the spill files of a directory; none if there is no directory.
uint64_t SpansOnDisk(const std::string& directory);

// What a receiver without any faults gets of a run that records so many times. Asks one, the first time.
const std::set<std::string>& Produced(int records);

// produced = delivered + rejected + lost + on disk, to the span, and nothing was taken twice; the lines are few; Close was
// in time.
void ExpectBalanced(const FaultRun& run, const SpanLedger& ledger, const std::string& spill_directory = "");

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_FAULT_RUN_H_
