// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/crash_mode.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/export/file/run_id.h"
#include "runtime/record/name_table.h"
#include "runtime/session/crash_session.h"
#include "runtime/session/run_report.h"
#include "runtime/threads/stderr_line.h"

namespace ferret {
namespace {

using internal::CrashFile;
using internal::NameTable;

// Text of names that are still to come.
constexpr uint64_t kLeastNameBytes = uint64_t{1} << 20;

void Warn(const Options& options, const std::string& line) {
  if (options.log >= Options::Log::kWarning) WriteStderrLine(line);
}

std::string Megabytes(uint64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); }

}  // namespace

std::unique_ptr<CrashMode> CrashMode::Start(const Options& options, size_t outputs,
                                            internal::Recorder::Config* recorder) {
  if (options.crash_dir.empty()) return nullptr;
  constexpr char kWithout[] = "; what is recorded does not survive a kill";
  if (outputs > internal::kCrashOutputs) {
    Warn(options, absl::StrCat("FERRET_CRASH_DIR: not with more than ", internal::kCrashOutputs, " exporters", kWithout));
    return nullptr;
  }
  CrashFile::Config config;
  // The program may change its directory before the file is removed.
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::absolute(options.crash_dir, error);
  config.directory = options.crash_dir == "auto" ? "/dev/shm" : error ? options.crash_dir : directory.string();
  config.chunk_bytes = recorder->pool.chunk_bytes;
  config.chunks = recorder->pool.max_chunks;
  const uint64_t wanted = config.chunks * config.chunk_bytes;
  config.min_chunks = std::min(wanted, kMinBufferBytes) / config.chunk_bytes;
  config.name_bytes = NameTable::Global().BytesInFile(std::max(kLeastNameBytes, wanted / 16));
  config.outputs = static_cast<uint32_t>(outputs);
  const absl::StatusOr<CrashFile*> file = CrashFile::Create(config);
  if (!file.ok()) {
    Warn(options, absl::StrCat("FERRET_CRASH_DIR: ", std::string(file.status().message()), kWithout));
    return nullptr;
  }
  const uint32_t chunks = static_cast<uint32_t>((*file)->chunks());
  if (chunks < config.chunks) {
    Warn(options, absl::StrCat("FERRET_CRASH_DIR: ", config.directory, " has room for a buffer of ",
                               Megabytes(uint64_t{chunks} * config.chunk_bytes), " instead of ", Megabytes(wanted)));
  }
  recorder->pool.max_chunks = chunks;
  recorder->pool.chunks = std::min(recorder->pool.chunks, chunks);
  return std::unique_ptr<CrashMode>(new CrashMode(options, *file));
}

void CrashMode::Begun(const internal::Recorder& recorder) {
  file_->header().first_window = recorder.first_window();
  file_->header().first_epoch = recorder.first_epoch();
}

void CrashMode::Publish(const SessionInfo& info, const std::vector<std::string>& outputs,
                        internal::Recorder* recorder) {
  CrashSession session;
  session.info = info;
  session.run_id = RunId();
  session.exporters = options_.exporters;
  session.outputs = outputs;
  session.with_flops = options_.with_flops;
  session.flight = options_.flight.size_bytes != 0;
  std::error_code error;
  session.directory = std::filesystem::current_path(error).string();
  file_->SetSession(CrashSessionText(session));
  absl::Status status = file_->TakeNamesAndChunks(&recorder->pool());
  if (status.ok()) status = file_->Publish();
  published_ = status.ok();
  if (published_) {
    (void)ReportCrashFile(options_.run_report, file_->path());
    return;
  }
  Warn(options_, absl::StrCat("FERRET_CRASH_DIR: ", std::string(status.message())));
  file_->Remove(false);
}

void CrashMode::Watch(size_t index, SessionInfo* info, RunnerOptions* runner) {
  const uint32_t output = static_cast<uint32_t>(index);
  CrashFile* const file = file_;
  runner->flush_interval = kFlushInterval;
  // Whoever keeps to a flush's deadline does not hang, nor does one that a busy machine lets wait for a while.
  runner->longest_wait = runner->flush_timeout;
  // Of the exporter's thread, and of the drain's when it gives up.
  struct Told {
    std::mutex mutex;
    CrashFile::Output state;
  };
  const auto told = std::make_shared<Told>();
  // The next one calls it: nothing of what is exported before the first flush is settled, but it is somewhere.
  info->file_opened = [file, output, told, next = std::move(info->file_opened)](const std::string& temporary_path,
                                                                                const std::string& final_path) {
    {
      std::lock_guard<std::mutex> lock(told->mutex);
      told->state = {told->state.batch, 0, 0, temporary_path, final_path};
      file->SetOutput(output, told->state);
    }
    if (next) next(temporary_path, final_path);
  };
  runner->on_given_up = [file, output, told](uint64_t batch) {
    std::lock_guard<std::mutex> lock(told->mutex);
    told->state.batch = std::max(told->state.batch, batch);
    file->SetOutput(output, told->state);
  };
  runner->on_settled = [file, output, told](uint64_t batch, const std::optional<DurableOutput>& durable) {
    std::lock_guard<std::mutex> lock(told->mutex);
    CrashFile::Output state;
    state.batch = std::max(told->state.batch, batch);
    if (durable) {
      state.bytes = durable->text_bytes;
      state.events = durable->events;
      state.path = durable->path;
      state.final_path = durable->final_path;
    }
    told->state = std::move(state);
    file->SetOutput(output, told->state);
  };
  runner->progress = [file, next = std::move(runner->progress)] {
    ExportProgress progress = next();
    file->SetLosses(progress.lost);
    return progress;
  };
}

void CrashMode::SetSettled(size_t outputs, uint64_t batch) {
  CrashFile::Output state;
  state.batch = batch;
  for (size_t i = 0; i < outputs; ++i) file_->SetOutput(static_cast<uint32_t>(i), state);
}

void CrashMode::End(bool well) {
  if (!published_) {
    file_->Remove(false);
    return;
  }
  if (!well) Warn(options_, absl::StrCat(file_->path(), ": what was not exported is there, for `ferret recover`"));
  file_->Remove(!well || options_.crash_keep);
}

}  // namespace ferret
