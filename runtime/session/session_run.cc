// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/session_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/record/name_table.h"
#include "runtime/record/thread_registry.h"
#include "runtime/session/at_exit.h"
#include "runtime/session/last_thread.h"
#include "runtime/session/process_identity.h"
#include "runtime/session/run_report.h"
#include "runtime/session/schedule.h"
#include "runtime/session/variables.h"
#include "runtime/session/window_switch.h"
#include "runtime/threads/own_threads.h"
#include "runtime/threads/stderr_line.h"

namespace ferret {
namespace {

using internal::ChunkPool;
using internal::DrainThread;
using internal::NameTable;
using internal::OverflowPolicy;
using internal::Recorder;
using internal::ThreadRegistry;

// A flight recorder has no use for small batches, and each one has its own memory in the ring. A slow step may be seen so
// much later.
constexpr int64_t kFlightBatchNs = 250'000'000;
// Exporters' threads are woken for so many full batches, and at the end of a pass of the drain.
constexpr uint64_t kBatchesForWake = 8;

Recorder::Config RecorderConfig(const Options& options) {
  Recorder::Config config;
  config.pool.chunk_bytes = Options::kChunkBytes;
  config.pool.chunks = static_cast<uint32_t>(options.buffer_bytes / Options::kChunkBytes);
  config.pool.max_chunks = config.pool.chunks;
  config.policy = OverflowPolicy::kDrop;
  if (options.overflow == Options::Overflow::kBlock) {
    config.policy = OverflowPolicy::kBlock;
    config.block_limit_ns = absl::ToInt64Nanoseconds(options.block_limit);
  }
  if (options.overflow == Options::Overflow::kGrow) {
    config.policy = OverflowPolicy::kGrow;
    const uint64_t cap = std::max(options.buffer_bytes, options.buffer_cap_bytes);
    config.pool.max_chunks = static_cast<uint32_t>(cap / Options::kChunkBytes);
  }
  return config;
}

bool Same(const Recorder::Config& a, const Recorder::Config& b) {
  return a.pool.chunks == b.pool.chunks && a.pool.max_chunks == b.pool.max_chunks &&
         a.pool.chunk_bytes == b.pool.chunk_bytes && a.policy == b.policy && a.block_limit_ns == b.block_limit_ns;
}

// Of the last session. Under the session lock.
Recorder* g_last_recorder = nullptr;

// The recorder of the last session if its sizes are the same, else a new one. A recorder is never freed: a thread may be
// late with its last record. Only its memory is given back.
Recorder* RecorderFor(const Recorder::Config& config) {
  if (g_last_recorder != nullptr && !Same(g_last_recorder->config(), config)) {
    g_last_recorder->pool().Retire();
    g_last_recorder = nullptr;
  }
  if (g_last_recorder == nullptr && (g_last_recorder = Recorder::Create(config)) != nullptr) {
    // Where leak checkers find it.
    static auto* const all = new std::vector<Recorder*>;
    all->push_back(g_last_recorder);
  }
  return g_last_recorder;
}

// A child of a fork may end by _exit at any moment, and nobody asks it to stop.
constexpr absl::Duration kFlushIntervalInChild = absl::Milliseconds(100);

uint32_t WantsOf(const Options& options) {
  using namespace internal;  // NOLINT: the bits
  return (options.record_shapes || options.with_flops ? kWantShapes : 0u) | (options.with_flops ? kWantFlops : 0u) |
         (options.with_stack ? kWantStacks : 0u) | (options.profile_memory ? kWantMemory : 0u) |
         (options.cuda >= Options::Cuda::kAnnotations && !options.in_forked_child ? kWantCudaAnnotations : 0u) |
         (options.cuda == Options::Cuda::kOps && !options.in_forked_child ? kWantCudaOps : 0u);
}

// On the device thread.
void TellOfDriver(const internal::DriverStatus& status, const Options& options) {
  using internal::DriverOutcome;
  // Where there is no device, programs that could use one are nothing special.
  const bool unusual = status.outcome == DriverOutcome::kIncomplete || status.outcome == DriverOutcome::kStub;
  if (options.log < (unusual ? Options::Log::kWarning : Options::Log::kInfo)) return;
  const bool good = status.outcome == DriverOutcome::kGood;
  WriteStderrLine(absl::StrCat(status.text, good ? "" : "; nothing is timed on it"));
}

std::chrono::steady_clock::time_point Steady(absl::Time deadline) {
  const absl::Duration left = std::max(absl::ZeroDuration(), deadline - absl::Now());
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(left, absl::Hours(1000)));
}

}  // namespace

SessionRun::SessionRun(const Options& options) : options_(options), pool_(64) {}

absl::StatusOr<std::unique_ptr<SessionRun>> SessionRun::Start(const Options& options,
                                                              std::vector<NamedExporter> exporters,
                                                              MakeExporters make_exporters) {
  bool cycle_counter = options.clock == Options::Clock::kTsc;
  if (options.clock != Options::Clock::kMonotonic) {
    const CycleCounterFitness fitness = CheckCycleCounter();
    if (cycle_counter && !fitness.fit) {
      return absl::FailedPreconditionError(absl::StrCat("FERRET_CLOCK=tsc is not possible here: ", fitness.reason));
    }
    cycle_counter = fitness.fit;
  }

  std::unique_ptr<SessionRun> run(new SessionRun(options));
  Recorder::Config recorder_config = RecorderConfig(options);
  run->crash_ = CrashMode::Start(options, exporters.size(), &recorder_config);
  run->recorder_ = RecorderFor(recorder_config);
  if (run->recorder_ == nullptr) {
    if (run->crash_ != nullptr) run->crash_->End(true);
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a buffer of ", options.buffer_bytes, " bytes (FERRET_BUFFER_SIZE)"));
  }
  run->losses_before_ = ThreadRegistry::Global().Losses();
  run->names_refused_before_ = NameTable::Global().refused();
  run->details_lost_before_ = Recorder::lost_details();
  run->ends_refused_before_ = ThreadRegistry::Global().ends_refused();

  DrainThread::Config config;
  config.builder.link_table_entries = options.link_table_entries;
  config.builder.with_flops = options.with_flops;
  if (run->crash_ != nullptr) {
    config.builder.cuts = config.builder.chunk_ids = true;
    config.crash_log = run->crash_->log();
  }
  config.cycle_counter = cycle_counter;
  config.wall_offset_ns = WallOffsetNs();
  config.on_look_for_threads = &EndProcessIfOnlyFerretIsLeft;
  if (options.flight.size_bytes != 0) config.longest_wait_for_batch_ns = kFlightBatchNs;
  run->drain_ = std::make_unique<DrainThread>(config, run->recorder_, run.get());

  run->StartCuda(config.wall_offset_ns);

  SessionInfo info;
  const ProcessIdentity identity = IdentifyProcess();
  identity.CopyTo(&info);
  for (const std::string& line : identity.ignored) {
    if (options.log >= Options::Log::kWarning) WriteStderrLine(line);
  }
  info.in_forked_child = options.in_forked_child;
  info.before_exit_handlers_so_far = &StopSessionBeforeExitHandlersSoFar;
  info.on_thread_start = &SessionRun::OnThreadStart;
  info.start_ns = run->drain_->start_ns();
  info.options = DescribeOptions(options);
  if (!options.run_report.empty()) {
    info.file_opened = [report = options.run_report](const std::string& temporary_path, const std::string& final_path) {
      (void)ReportOpened(report, temporary_path, final_path);
    };
  }
  if (run->crash_ != nullptr) {
    std::vector<std::string> names;
    for (const NamedExporter& exporter : exporters) names.push_back(exporter.name);
    run->crash_->Publish(info, names, run->recorder_);
  }
  if (options.flight.size_bytes != 0) {
    run->MakeFlightRecorder(info, exporters, std::move(make_exporters));
    exporters.clear();
  }
  for (NamedExporter& exporter : exporters) {
    SessionInfo own = info;
    RunnerOptions runner;
    runner.name = exporter.name;
    runner.max_queue_bytes = options.exporter_queue_bytes;
    runner.on_thread_start = &OnThreadStart;
    runner.progress = [run = run.get()] { return run->Progress(); };
    if (options.in_forked_child) runner.flush_interval = kFlushIntervalInChild;
    if (run->crash_ != nullptr) run->crash_->Watch(run->runners_.size(), &own, &runner);
    run->runners_.push_back(
        std::make_unique<ExporterRunner>(std::move(exporter.exporter), std::move(own), std::move(runner)));
  }
  run->recorder_->Start(cycle_counter, WantsOf(options), !RecordsAt(options.schedule, 0));
  if (run->crash_ != nullptr) run->crash_->Begun(*run->recorder_);
  const bool drains = run->drain_->Start();
  if (!drains || (run->flight_ != nullptr && !run->flight_->Start()) || !WindowSwitch::Global().Begin(options.schedule)) {
    Recorder::Stop();
    const absl::Time deadline = absl::Now() + options.stop_deadline;
    if (run->cuda_ != nullptr && !run->cuda_->Stop(Steady(deadline))) (void)run->owned_cuda_.release();
    const bool drained = !drains || run->drain_->Finish(Steady(deadline));
    run->StopRunners(deadline).IgnoreError();
    run->StopFlightRecorder(deadline).IgnoreError();
    if (drained && run->crash_ != nullptr) {
      run->crash_->End(true);
      run->drain_->RecycleHeldChunks();
    }
    if (!drained) g_last_recorder = nullptr;
    if (!drained || run->abandoned_) (void)run.release();  // threads still use it
    return absl::ResourceExhaustedError("no thread could be started");
  }
  return run;
}

void SessionRun::OnThreadStart() {
  Recorder::SuppressThisThread();
  ThisThreadIsFerrets();
}

void SessionRun::ForgetParentInChild() { g_last_recorder = nullptr; }

void SessionRun::StartCuda(int64_t wall_offset_ns) {
  device_session_ = internal::CudaSession::NewSession();
  if (options_.cuda == Options::Cuda::kOff || options_.in_forked_child) return;
  if (!options_.cuda_library.empty() && options_.log >= Options::Log::kWarning) {
    WriteStderrLine(absl::StrCat("FERRET_CUDA_LIBRARY: CUDA times come from ", options_.cuda_library));
  }
  internal::CudaSession::Config config;
  config.library = options_.cuda_library;
  config.scopes_per_second = options_.cuda_rate;
  config.ns_per_tick = drain_->ns_per_tick();
  config.now = [wall_offset_ns] { return MonotonicNs() + wall_offset_ns; };
  config.on_thread_start = &OnThreadStart;
  config.on_driver = [options = options_](const internal::DriverStatus& status) { TellOfDriver(status, options); };
  owned_cuda_ = std::make_unique<internal::CudaSession>(std::move(config));
  cuda_ = owned_cuda_.get();
  drain_->SetDevicePort(cuda_);
}

void SessionRun::StopCuda(absl::Time deadline) {
  if (cuda_ == nullptr) return;
  cuda_->TurnOff();
  if (!cuda_->started()) return;
  const absl::Duration left = std::max(absl::ZeroDuration(), deadline - absl::Now());
  // What was recorded goes to the device thread, and what that one finds out comes back with the drain's last pass.
  if (drain_->Flush(Steady(absl::Now() + left / 2))) cuda_->Settle(Steady(deadline - left / 8));
  cuda_hangs_ = !cuda_->Stop(Steady(deadline));
}

void SessionRun::Push(std::shared_ptr<EventBatch> batch) {
  batch->sequence = ++batches_;
  if (flight_ != nullptr) {
    flight_->Push(std::move(batch));
    KeepLosses();
    return;
  }
  // Waking a thread, and switching to it, costs as much as building a hundred events.
  const bool wake = ++unannounced_ == kBatchesForWake;
  if (wake) unannounced_ = 0;
  for (const auto& runner : runners_) runner->Push(batch, wake);
}

void SessionRun::PassEnded() {
  if (std::exchange(unannounced_, 0) == 0) return;
  for (const auto& runner : runners_) runner->Wake();
}

uint64_t SessionRun::KeepForDump() {
  if (flight_ != nullptr) flight_->KeepForDump();
  return batches_;
}

void SessionRun::WantSettled() {
  if (flight_ != nullptr) flight_->WantSettled();
  for (const auto& runner : runners_) runner->FlushSoon();
}

absl::Status SessionRun::Flush(absl::Time deadline) {
  if (!drain_->Flush(Steady(deadline))) {
    return absl::DeadlineExceededError("the drain thread did not finish in time");
  }
  absl::Status status;
  for (const auto& runner : runners_) status.Update(runner->Flush(deadline));
  if (flight_ != nullptr) status.Update(flight_->WaitForDumps(deadline));
  return status;
}

absl::Status SessionRun::Dump() {
  if (flight_ != nullptr) return flight_->Dump("asked for by the program");
  return absl::FailedPreconditionError("the session is no flight recorder: set FERRET_FLIGHT");
}

absl::Status SessionRun::Stop(absl::Time deadline) {
  WindowSwitch::Global().End();
  Recorder::Stop();
  // A third of the time at most for devices, and as much for the drain, so that exporters can complete their files.
  const absl::Time start = absl::Now();
  const absl::Duration left = std::max(absl::ZeroDuration(), deadline - start);
  StopCuda(start + left / 3);
  if (!drain_->Finish(Steady(start + left * 2 / 3))) {
    abandoned_ = true;
    device_over_.store(true, std::memory_order_release);
    // The thread goes on reading and recycling its chunks: nobody else may (single-recycler).
    g_last_recorder = nullptr;
    absl::Status status = absl::DeadlineExceededError("the drain thread did not finish in time");
    status.Update(StopRunners(deadline));
    status.Update(StopFlightRecorder(deadline));
    // Not ended: the thread goes on writing to it.
    return status;
  }
  device_over_.store(true, std::memory_order_release);
  if (cuda_hangs_) (void)owned_cuda_.release();
  absl::Status status = StopRunners(deadline);
  const absl::Status dumped = StopFlightRecorder(deadline);
  status.Update(dumped);
  if (crash_ != nullptr) {
    // What a dump should have had is in the file.
    crash_->End(!absl::IsDeadlineExceeded(status) && dumped.ok());
    drain_->RecycleHeldChunks();
  }
  return status;
}

// All at once: one that hangs must not take the others' time.
absl::Status SessionRun::StopRunners(absl::Time deadline) {
  for (const auto& runner : runners_) runner->RequestStop(deadline);
  absl::Status status;
  for (const auto& runner : runners_) status.Update(runner->Stop(deadline));
  return status;
}

}  // namespace ferret
