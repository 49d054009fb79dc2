// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// SpanIds: the ids of a session's traces and of everything in them.
//
// Every id is a pure function of who records (ProcessKey) and of what is recorded (the event's id), so a parent or a link
// is written down without a table and before, or long after, the span that it means; and whoever knows the five facts,
// which are all in the resource, computes the same ids.
//
// A session of a process is one trace, and each training step may be one of its own: whoever writes spans decides. An
// event's span has the same id in both.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_SPAN_IDS_H_
#define FERRET_EXPORTERS_OTLP_SPANS_SPAN_IDS_H_

#include <array>
#include <cstdint>
#include <string>

namespace ferret::otlp {

// What tells one recording session from all others.
struct ProcessKey {
  std::string job;  // the launcher's job id, or else the run id that all processes of a run share
  int rank = 0;
  std::string host;
  int32_t pid = 0;
  int64_t session_start_ns = 0;
};

using TraceId = std::array<char, 16>;
// 0 is no id. Its eight bytes stand in an output most significant first.
using SpanId = uint64_t;

class SpanIds {
 public:
  explicit SpanIds(const ProcessKey& key);

  const TraceId& trace_id() const { return trace_id_; }
  // Of the step with that number: the same in all sessions of the job's rank, so after a restart too.
  TraceId TraceOfStep(int64_t number) const;

  // Different for different events, and from those below; never 0. Event ids are positive, and below 2^61.
  SpanId OfEvent(int64_t event_id) const { return OfInput(static_cast<uint64_t>(event_id)); }
  // The span that everything without a parent has as its parent.
  SpanId OfRun() const { return OfInput(0); }
  // The span that says at the end what was recorded and lost.
  SpanId OfRecord() const { return OfInput(~uint64_t{0}); }
  // The n-th span that carries instants, from 0.
  SpanId OfCarrier(uint64_t n) const { return OfInput(~uint64_t{1} - n); }
  // A phase of the n-th step of the session.
  SpanId OfPhase(uint64_t n, uint8_t phase) const { return OfInput(uint64_t{1} << 62 | n << 8 | phase); }

 private:
  // The finalizer of SplitMix64: a bijection, so different inputs have different ids.
  static constexpr uint64_t Mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  SpanId OfInput(uint64_t input) const {
    const SpanId id = Mix(input + seed_);
    // The one input whose id would be 0 gets that of an input which nothing has.
    return id != 0 ? id : Mix((uint64_t{1} << 63) + seed_);
  }

  TraceId trace_id_;
  uint64_t seed_;
  std::string job_;
  int rank_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_SPAN_IDS_H_
