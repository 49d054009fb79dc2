// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Options: everything that can be set about a session, with its defaults.
//
// A plain struct and one function that says whether its values make sense. Where the values come from is not its
// business: variables.h fills it from text, environment.h from the process's environment.

#ifndef FERRET_RUNTIME_SESSION_OPTIONS_H_
#define FERRET_RUNTIME_SESSION_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ferret/flight.h"
#include "ferret/schedule.h"

namespace ferret {

struct Options {
  // What happens to a scope when every chunk is in use.
  enum class Overflow : uint8_t {
    kDrop,   // lose it, counted
    kBlock,  // wait up to block_limit for a chunk, then lose it
    kGrow,   // allocate chunks up to buffer_cap_bytes, then lose it
  };
  enum class Clock : uint8_t {
    kAuto,  // the time stamp counter if the kernel itself trusts it, otherwise CLOCK_MONOTONIC
    kTsc,
    kMonotonic,
  };
  // What a forked child does.
  enum class Fork : uint8_t {
    kOff,      // records nothing
    kRestart,  // with its first record, starts a session of its own
  };
  enum class Log : uint8_t { kError, kWarning, kInfo };

  static constexpr uint64_t kChunkBytes = uint64_t{64} << 10;
  static constexpr uint64_t kMinBufferBytes = 2 * kChunkBytes;
  static constexpr uint64_t kMaxBufferBytes = uint64_t{16} << 30;
  static constexpr uint64_t kMinQueueBytes = uint64_t{1} << 20;
  static constexpr uint64_t kMaxQueueBytes = uint64_t{16} << 30;
  static constexpr uint64_t kMinLinkTableEntries = uint64_t{1} << 10;
  static constexpr uint64_t kMaxLinkTableEntries = uint64_t{64} << 20;
  static constexpr uint64_t kMaxCudaRate = 100'000'000;

  // name[:target][?key=value&...][,...], not yet parsed (see runtime/export/export_spec.h). Empty: no recording.
  std::string exporters;
  // Shared libraries with exporters, loaded at start.
  std::vector<std::string> plugins;

  // Memory for chunks; rounded down to whole chunks by who allocates them.
  uint64_t buffer_bytes = uint64_t{64} << 20;
  // Overflow::kGrow only: the most that buffer_bytes may grow to.
  uint64_t buffer_cap_bytes = uint64_t{256} << 20;
  Overflow overflow = Overflow::kDrop;
  // Overflow::kBlock only. Never unlimited: the waiting thread may hold what an exporter needs (Python's GIL).
  absl::Duration block_limit = absl::Milliseconds(100);
  // Batches waiting for one exporter.
  uint64_t exporter_queue_bytes = uint64_t{64} << 20;
  // Forward ops remembered until their backward op comes.
  uint64_t link_table_entries = uint64_t{1} << 20;
  // How long stopping may take, exporters included.
  absl::Duration stop_deadline = absl::Seconds(2);

  // What is recorded beyond names and times. Who feeds Ferret decides what it can give (scope_details.h).
  bool record_shapes = false;   // inputs of operators: shapes, strides, types, scalars
  bool with_flops = false;      // estimates for the operators that allow it; implies record_shapes
  bool with_stack = false;      // where operators were called from
  bool profile_memory = false;  // allocations

  // Which scopes are timed on a CUDA device. Each includes the ones before it.
  enum class Cuda : uint8_t {
    kOff,
    kScopes,       // those that the program says so of (ferret/cuda.h)
    kAnnotations,  // a framework's user annotations, on its current stream
    kOps,          // and its operators
  };
  Cuda cuda = Cuda::kScopes;
  // At most so many a second; 0: no limit. A timed scope costs microseconds.
  uint64_t cuda_rate = 50'000;
  // Instead of the CUDA driver, for tests.
  std::string cuda_library;

  // When to record; by default always.
  Schedule schedule;
  // Keep only the latest events, and export them when something asks for it.
  Flight flight;

  Clock clock = Clock::kAuto;
  Fork fork = Fork::kOff;
  // Set for a session in a forked child: its files get names of their own, and no device is asked anything.
  bool in_forked_child = false;
  Log log = Log::kWarning;

  // Where the crash file goes that what is recorded survives a kill in (runtime/crash/crash_layout.h); "auto" is
  // /dev/shm. Empty: there is none.
  std::string crash_dir;
  // Leave the file there when the session ends well.
  bool crash_keep = false;

  // Set by `ferret run`: which run this process belongs to, and the file that its report goes to (run_report.h).
  std::string run_id;
  std::string run_report;

  // OK, or an InvalidArgumentError that names the option and what is allowed. Does not look into `exporters`.
  absl::Status Validate() const;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_OPTIONS_H_
