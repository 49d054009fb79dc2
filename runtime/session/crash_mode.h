// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Crash-survivable mode, as far as the session is concerned: where the crash file goes, and what is said when it cannot be
// had. A session without it goes on in anonymous memory.

#ifndef FERRET_RUNTIME_SESSION_CRASH_MODE_H_
#define FERRET_RUNTIME_SESSION_CRASH_MODE_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/crash/crash_file.h"
#include "runtime/crash/crash_log.h"
#include "runtime/export/exporter_runner.h"
#include "runtime/record/recorder.h"
#include "runtime/session/options.h"

namespace ferret {

class CrashMode {
 public:
  // The least memory for chunks that is worth it, if more is asked for.
  static constexpr uint64_t kMinBufferBytes = uint64_t{8} << 20;
  // Chunks wait until exporters have flushed, so they do it more often.
  static constexpr absl::Duration kFlushInterval = absl::Milliseconds(50);

  // Null if options.crash_dir is empty or there can be no file; then a line has been printed. Changes `recorder` to what
  // the file has room for.
  static std::unique_ptr<CrashMode> Start(const Options& options, size_t outputs,
                                          internal::Recorder::Config* recorder);

  internal::CrashLog* log() { return &log_; }
  internal::CrashFile* file() { return file_; }

  // The file gets the names, the recorder's chunks and its own name. Prints a line if it cannot; recording goes on without
  // it.
  void Publish(const SessionInfo& info, const std::vector<std::string>& outputs, internal::Recorder* recorder);
  // Recording has begun: from here on a kill loses nothing.
  void Begun(const internal::Recorder& recorder);

  // What the runner of that output has to tell the file: how far it has got, of which it never takes back anything.
  void Watch(size_t output, SessionInfo* info, RunnerOptions* runner);

  // Instead, of a flight recorder's outputs: nothing up to that batch has to survive a kill. Drain thread.
  void SetSettled(size_t outputs, uint64_t batch);

  // The session has ended. If it did not end `well`, the file is left to be recovered.
  void End(bool well);

 private:
  CrashMode(const Options& options, internal::CrashFile* file) : options_(options), file_(file), log_(file) {}

  const Options options_;
  internal::CrashFile* const file_;
  internal::CrashLog log_;
  bool published_ = false;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_CRASH_MODE_H_
