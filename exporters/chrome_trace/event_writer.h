// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EventWriter: one event of a batch as one line of a Chrome trace.
//
// Everything that is the same for all events of one name (from the brace to `"tid": `, with the name escaped) is
// prepared once and copied, so that an event costs a few copies and five numbers.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_EVENT_WRITER_H_
#define FERRET_EXPORTERS_CHROME_TRACE_EVENT_WRITER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ferret/event_batch.h"
#include "runtime/export/file/unit_buffer.h"

namespace ferret::chrome_trace {

class EventWriter {
 public:
  EventWriter(int32_t pid, int64_t base_ns, UnitBuffer* out) : pid_(pid), base_ns_(base_ns), out_(out) {}

  // Of the next X event.
  void ResetIndex() { index_ = 0; }

  // A slice on the track `tid`, which need not be the event's own thread.
  void WriteSlice(const FunctionEvent& event, int64_t tid);
  // A pair of asynchronous begin and end (ph b and e), which may overlap anything.
  void WriteAsyncPair(const FunctionEvent& event);
  void WriteInstant(const InstantEvent& event);
  void WriteMemory(const MemoryEvent& event);
  void WriteLink(const ForwardBackwardLink& link);
  // The name of a track and its place in the order of tracks.
  void WriteThread(int64_t tid, std::string_view label, int64_t sort_index, int64_t time_ns);

 private:
  enum Kind { kOp, kAnnotation, kInstant, kCounter, kKindCount };
  struct PreparedName {
    std::array<std::string, kKindCount> start;  // from the indent to `"tid": `; empty until used
    std::string hex;                            // `"name_hex": "…"` if the name is not well-formed
  };

  const PreparedName& Prepare(Kind kind, std::string_view name, uint32_t name_id);
  void Fill(Kind kind, std::string_view name, PreparedName* prepared) const;
  void DescribeDetails(const FunctionEvent& event);
  char* WriteArgs(char* at, const FunctionEvent& event, const std::string& hex);
  char* WriteTidAndTime(char* at, int64_t tid, int64_t time_ns);
  char* PutFlowEnd(char* at, bool is_start, int64_t id, int64_t tid, int64_t time_ns);

  const int32_t pid_;
  const int64_t base_ns_;
  UnitBuffer* const out_;
  uint64_t index_ = 0;

  std::vector<std::unique_ptr<PreparedName>> prepared_;  // by name id; the name table bounds it
  std::string details_;                                  // args of the event that is being written
  PreparedName unlisted_;                                // of a name without an id or too long to be kept

  // The tid of the previous event and `"ts": ` behind it: batches are runs of one thread's events.
  static constexpr size_t kTidChars = 32;
  int64_t last_tid_ = -1;
  std::array<char, kTidChars> tid_text_{};
  size_t tid_size_ = 0;
};

// Tids are positive in a trace.
int64_t TraceTid(int32_t os_tid);

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_EVENT_WRITER_H_
