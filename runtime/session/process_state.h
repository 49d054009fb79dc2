// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything about the one session of the process.

#ifndef FERRET_RUNTIME_SESSION_PROCESS_STATE_H_
#define FERRET_RUNTIME_SESSION_PROCESS_STATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/session/options.h"
#include "runtime/session/session_run.h"

namespace ferret {

// Never destroyed: threads may still call in when statics are. In a forked child it is constructed anew, over what the
// parent had: that is left where it is.
struct Process {
  // Guards the rest. Taken by the program's threads, by a recording one only for a first session, and by those of Ferret's
  // that end the process, not by what a session runs. Whoever has a deadline waits no longer for it.
  std::timed_mutex mutex;
  // The latest session's. Read without the lock.
  std::atomic<int64_t> stop_deadline_ms{absl::ToInt64Milliseconds(Options().stop_deadline)};
  std::shared_ptr<SessionRun> run;  // shared with calls of Flush
  std::vector<std::shared_ptr<SessionRun>> abandoned;  // for ever: threads still use them
  Options options;
  // What Losses() answers between sessions.
  std::map<uint32_t, LossCounts> last_losses;
  DeviceCounts last_device_losses;
  bool is_forked_child = false;

  // For Dump, which does not wait for a session that is being stopped: never held for long.
  std::mutex dump_mutex;
  std::shared_ptr<SessionRun> dumps_from;  // null when there is no session
};

inline Process& TheProcess() {
  static Process* process = new Process;
  return *process;
}

using ProcessLock = std::unique_lock<std::timed_mutex>;

// The lock of the process's mutex. DeadlineExceeded if another thread has it for longer.
inline absl::Status LockUntil(absl::Time deadline, ProcessLock* lock) {
  // By the clock that ThreadSanitizer knows a function for.
  *lock = ProcessLock(TheProcess().mutex, absl::ToChronoTime(deadline));
  return lock->owns_lock() ? absl::OkStatus()
                           : absl::DeadlineExceededError("another thread is still starting or stopping a session");
}

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_PROCESS_STATE_H_
