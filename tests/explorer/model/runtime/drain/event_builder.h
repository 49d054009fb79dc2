// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the event builder under the explorer: keeps the words of all records that the drain hands to it, by
// thread, and checks the chunks' headers. What events are made of them is no part of the protocol.

#ifndef FERRET_TESTS_EXPLORER_MODEL_EVENT_BUILDER_H_
#define FERRET_TESTS_EXPLORER_MODEL_EVENT_BUILDER_H_

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ferret/internal/record_format.h"
#include "runtime/record/chunk.h"
#include "tests/explorer/execution.h"

namespace ferret::internal {

class ClockMap;

class BatchSink {
 public:
  void WantSettled() {}
};

struct ThreadTrace {
  std::deque<Chunk*> chunks;
  uint32_t readable = 0;
  bool front_sealed = false;
  bool exited = false;
  // Of crash files.
  struct HeldChunk {};
  std::deque<HeldChunk> held;
  bool advanced = false;
  uint32_t crash_slot = 0;
  uint32_t thread = 0;
  int32_t os_tid = 0;
  std::string name;

  uint32_t next_sequence = 0;
  std::vector<uint64_t> words;
};

class DeviceLinker {
 public:
  struct Pair {
    uint32_t pair;
    uint32_t stream;
    int64_t begin, end, launch;
  };
  std::vector<Pair>* submitted() { return &submitted_; }

 private:
  std::vector<Pair> submitted_;
};

class EventBuilder {
 public:
  struct Config {
    size_t batch_events = 1024;
  };
  EventBuilder(const Config&, const ClockMap*, BatchSink*) {}

  ThreadTrace& TraceOf(const Chunk& chunk) {
    ThreadTrace& trace = traces_[chunk.thread];
    if (chunk.magic != kChunkMagic || chunk.version != kRecordFormatVersion ||
        chunk.header_bytes != kChunkHeaderBytes || chunk.sequence != trace.next_sequence++) {
      explorer::Execution::Current()->Fail("the drain got a chunk with a wrong header");
    }
    return trace;
  }
  bool numbers_chunks() const { return false; }
  void NumberScopes(ThreadTrace&, Chunk*) {}
  uint64_t LastBatch() const { return 1; }
  uint64_t steps() const { return 0; }
  int64_t step_end_ns() const { return 0; }
  size_t trace_count() const { return traces_.size(); }
  void EnterWindow(ThreadTrace&, uint32_t, bool) {}
  void Consume(ThreadTrace& trace, const char* from, const char* to) {
    for (; from + 8 <= to; from += 8) {
      uint64_t word;
      std::memcpy(&word, from, sizeof(word));
      trace.words.push_back(word);
    }
  }
  bool IsOver(const ThreadTrace&) const { return false; }
  void Remove(ThreadTrace&) {}
  void AdvanceTo(uint64_t) {}
  void ReadAloneTo(uint64_t) {}
  void DeliverBatch() {}
  void Finish(uint64_t) {}
  template <typename Visit>
  void ForEachTrace(Visit visit) {
    for (auto& entry : traces_) visit(entry.second);
  }
  DeviceLinker& device() { return device_; }

  const std::map<uint32_t, ThreadTrace>& traces() const { return traces_; }

 private:
  std::map<uint32_t, ThreadTrace> traces_;
  DeviceLinker device_;
};

}  // namespace ferret::internal

#endif  // FERRET_TESTS_EXPLORER_MODEL_EVENT_BUILDER_H_
