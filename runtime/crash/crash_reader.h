// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CrashContents: a crash file (crash_layout.h) as its reader may use it.
//
// The file was written by a process that died at any instruction, or by somebody who means harm: every number is checked
// before it is used, times and sizes are in ranges that no arithmetic leaves, and every record is whole. What fails is left
// out and said. A process that lives may go on writing: each thread is read as it was at one moment (crash_snapshot.h).

#ifndef FERRET_RUNTIME_CRASH_CRASH_READER_H_
#define FERRET_RUNTIME_CRASH_CRASH_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ferret/loss.h"
#include "runtime/clock/clock_map.h"
#include "runtime/crash/crash_layout.h"
#include "runtime/crash/crash_names.h"
#include "runtime/crash/crash_snapshot.h"
#include "runtime/crash/process_stamp.h"
#include "runtime/record/chunk.h"
#include "runtime/record/name_table.h"

namespace ferret::internal {

class CrashContents {
 public:
  // A chunk that is in use: its header, and its records up to the first one that cannot be, with name ids of `names`.
  struct SavedChunk {
    ChunkCopy copy;
    Chunk* chunk = nullptr;  // the copy's
    uint32_t end = 0;        // of its records
  };
  struct SavedThread {
    int32_t os_tid = 0;
    std::string name;
    uint64_t position = 0;  // every exporter has what is before
    bool has_carried = false;
    uint32_t after_sequence = 0;         // of the carried scopes
    std::vector<CarriedScope> carried;   // outermost first
    std::optional<CarriedSteps> steps;   // at the end of the chunk before the first
    // By sequence, without those whose end is carried. With carried scopes one at least, if need be one without records.
    std::vector<SavedChunk> chunks;
  };
  struct Output {
    static constexpr uint64_t kDisabled = UINT64_MAX;
    uint64_t batch = 0;  // or kDisabled
    uint64_t bytes = 0;
    uint64_t events = 0;
    std::string path;
    std::string final_path;
  };

  // `bytes` are the whole file's and need not stay. An error if it is no crash file, or one that nothing can be read from.
  static absl::StatusOr<std::unique_ptr<CrashContents>> Read(std::string_view bytes);
  // Only whose file it is.
  static absl::StatusOr<ProcessStamp> ReadStamp(std::string_view bytes);

  const ProcessStamp& stamp() const { return stamp_; }
  const std::string& session() const { return session_; }
  ClockMap Clock() const { return ClockMap(segments_, ns_per_tick_); }
  const Windows& windows() const { return *windows_; }
  uint32_t first_window() const { return first_window_; }
  NameTable& names() { return names_.table(); }
  std::map<uint32_t, SavedThread>& threads() { return threads_; }
  const std::map<uint32_t, SavedThread>& threads() const { return threads_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const LossCounts& lost() const { return lost_; }
  uint32_t chunk_bytes() const { return chunk_bytes_; }
  // Whether the steps that the records have can be counted: from the first, or on from what is carried.
  bool counts_steps() const { return counts_steps_; }
  // In use, and all that there are.
  uint64_t chunks_used() const { return chunks_used_; }
  uint64_t chunks() const { return chunks_; }
  // The number of the last training step that ended, plus one; 0: none has. When it did.
  uint64_t steps() const { return steps_; }
  int64_t step_end_ns() const { return step_end_ns_; }
  // The latest batch that is known of.
  uint64_t newest_batch() const { return newest_batch_; }
  // In all chunks, of every kind.
  uint64_t records() const { return records_; }
  int64_t next_id() const { return next_id_; }
  int64_t next_flow() const { return next_flow_; }
  uint64_t last_ticks() const { return last_ticks_; }
  // How far the thread's records are in batches up to that one.
  uint64_t PositionAt(uint32_t thread, uint64_t batch) const;
  // The records of an output that is settled up to that batch are all in it.
  bool IsComplete(uint64_t batch) const { return last_batch_ != 0 && batch >= last_batch_; }

  // What was found and what was not used, for people, one line each.
  std::vector<std::string> Notes() const;

 private:
  CrashContents() = default;

  bool ReadClock(std::string_view part);
  void ReadWindows(std::string_view part);
  void ReadOutputs(std::string_view part, uint32_t count);
  void ReadThreads(std::string_view threads, std::string_view carried, std::string_view chunks);
  void ReadThread(const ThreadCopy& copy);
  void AddEmptyChunk(uint32_t number, SavedThread* thread);
  void ReadJournal(std::string_view part, uint64_t begin, uint64_t end);
  void ReadChunks(std::string_view part);
  void ReadSteps(const CrashHeader& header);
  bool ReadChunk(SavedChunk* saved);
  // No id twice, and of a thread none that is smaller than an earlier one's, so that no scope is inside of itself: chunks
  // that say otherwise are given new ones by the drain.
  void CheckIds();
  // How much of the record at `record`, of which `room` bytes are there, may be used; 0 if nothing. Changes what refers to
  // the file.
  uint32_t CheckRecord(char* record, uint32_t room);
  bool IsTime(uint64_t ticks) const { return ticks >= first_possible_ && ticks <= last_possible_; }

  ProcessStamp stamp_;
  std::string session_;
  std::vector<ClockMap::Segment> segments_;
  double ns_per_tick_ = 1;
  uint64_t first_possible_ = 0;
  uint64_t last_possible_ = 0;
  std::unique_ptr<Windows> windows_;
  CrashNames names_;
  uint32_t first_epoch_ = 0;
  uint32_t first_window_ = 0;
  std::map<uint32_t, std::vector<SavedChunk>> read_chunks_;  // by thread and sequence, while it reads
  std::map<uint32_t, SavedThread> threads_;
  std::vector<Output> outputs_;
  std::map<uint32_t, std::map<uint64_t, uint64_t>> journal_;  // thread, batch, position
  LossCounts lost_;
  uint32_t chunk_bytes_ = 0;
  bool counts_steps_ = true;
  int64_t next_id_ = 1;
  int64_t next_flow_ = 1;
  uint64_t last_batch_ = 0;
  uint64_t last_ticks_ = 0;
  uint64_t steps_ = 0;
  int64_t step_end_ns_ = 0;
  uint64_t newest_batch_ = 0;
  uint64_t chunks_ = 0;
  uint64_t chunks_used_ = 0;
  uint64_t chunks_bad_ = 0;
  uint64_t chunks_late_ = 0;
  uint64_t chunks_twice_ = 0;
  uint64_t chunks_missing_ = 0;
  uint64_t chunks_renumbered_ = 0;
  uint64_t records_ = 0;
  uint64_t bytes_skipped_ = 0;
  uint64_t device_marks_ = 0;
  uint64_t scopes_bad_ = 0;
  uint64_t scopes_not_kept_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_CRASH_CRASH_READER_H_
