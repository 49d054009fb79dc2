// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a process was doing, as its crash file and the kernel tell it.

#ifndef FERRET_TOOLS_INSPECT_REPORT_H_
#define FERRET_TOOLS_INSPECT_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ferret/loss.h"
#include "runtime/crash/crash_reader.h"
#include "runtime/events/text_pool.h"
#include "runtime/export/exporter.h"
#include "tools/thread_state.h"

namespace ferret {

// Names are of the process's pool.
struct InspectedScope {
  std::string_view name;
  int64_t start_ns = 0;
  bool is_async = false;
};

struct InspectedEvent {
  std::string_view name;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct InspectedThread {
  uint32_t thread = 0;  // Ferret's id
  int32_t os_tid = 0;
  bool is_main = false;
  bool has_exited = false;
  std::string name;
  ThreadState state;                // of a process that lives
  int64_t last_ns = 0;              // its latest record
  std::vector<InspectedScope> open;  // outermost first, then asynchronous ones by their begin
  uint64_t open_left_out = 0;        // of a stack that never ends, from the middle
  std::vector<InspectedEvent> last;  // finished, latest first; as far as the file still has them

  bool has_open() const { return !open.empty(); }
};

struct InspectedExporter {
  std::string name;
  std::string path;  // empty if it has none
  bool disabled = false;
  uint64_t behind = 0;  // batches that it has not put in safety
};

struct InspectedProcess {
  std::shared_ptr<TextPool> names = std::make_shared<TextPool>();
  std::string file;
  int32_t pid = 0;
  bool lives = false;
  SessionInfo info;
  // Ages are up to here: now, or the last record of a process that is dead. Unix ns, as all times.
  int64_t reference_ns = 0;
  int64_t last_record_ns = 0;
  bool has_ended = false;  // recording: what was open was closed with it
  bool is_paused = false;
  int64_t paused_ns = 0;  // since when
  bool has_step = false;
  uint64_t step = 0;  // the last one that ended
  int64_t step_end_ns = 0;
  LossCounts lost;
  uint64_t chunks_used = 0;
  uint64_t chunks = 0;
  uint64_t chunk_bytes = 0;
  std::vector<InspectedExporter> exporters;
  std::vector<std::string> notes;         // on what could not be used
  std::vector<InspectedThread> threads;   // the main one, then by how long the innermost scope has been open
};

// `last`: finished events of each thread. Not more than 256 open scopes of each and the first 1,000 bytes of names.
// `task_folder` is /proc/<pid>/task of a process that lives, else empty; `pid` is
// what it is called here, 0: as the file says. False if there is no memory for it.
bool InspectContents(internal::CrashContents* contents, size_t last, const std::string& task_folder, int32_t pid,
                     InspectedProcess* process);

}  // namespace ferret

#endif  // FERRET_TOOLS_INSPECT_REPORT_H_
