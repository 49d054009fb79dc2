// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/session_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/device/device_counter.h"
#include "runtime/record/name_table.h"
#include "runtime/record/thread_registry.h"
#include "runtime/session/process_identity.h"
#include "runtime/session/run_report.h"
#include "runtime/session/schedule.h"
#include "runtime/session/variables.h"
#include "runtime/session/window_switch.h"

namespace ferret {
namespace {

using internal::ChunkPool;
using internal::DrainThread;
using internal::NameTable;
using internal::OverflowPolicy;
using internal::Recorder;
using internal::ThreadRegistry;

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

uint32_t WantsOf(const Options& options) {
  using namespace internal;  // NOLINT: the bits
  return (options.record_shapes || options.with_flops ? kWantShapes : 0u) | (options.with_flops ? kWantFlops : 0u) |
         (options.with_stack ? kWantStacks : 0u) | (options.profile_memory ? kWantMemory : 0u) |
         (options.cuda >= Options::Cuda::kAnnotations ? kWantCudaAnnotations : 0u) |
         (options.cuda == Options::Cuda::kOps ? kWantCudaOps : 0u);
}

// On the device thread.
void TellOfDriver(const internal::DriverStatus& status, const Options& options) {
  using internal::DriverOutcome;
  // Where there is no device, programs that could use one are nothing special.
  const bool unusual = status.outcome == DriverOutcome::kIncomplete || status.outcome == DriverOutcome::kStub;
  if (options.log < (unusual ? Options::Log::kWarning : Options::Log::kInfo)) return;
  const bool good = status.outcome == DriverOutcome::kGood;
  std::fprintf(stderr, "ferret: %s%s\n", status.text.c_str(), good ? "" : "; nothing is timed on it");
}

std::chrono::steady_clock::time_point Steady(absl::Time deadline) {
  const absl::Duration left = std::max(absl::ZeroDuration(), deadline - absl::Now());
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(left, absl::Hours(1000)));
}

// `now` - `before`. A thread's counts may have moved to id 0 meanwhile (see ThreadRegistry): then `before` exceeds.
LossCounts Since(const LossCounts& now, const LossCounts& before) {
  LossCounts since;
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    since.by_reason[i] = now.by_reason[i] - std::min(now.by_reason[i], before.by_reason[i]);
  }
  return since;
}

}  // namespace

SessionRun::SessionRun(const Options& options) : options_(options), pool_(64) {}

absl::StatusOr<std::unique_ptr<SessionRun>> SessionRun::Start(const Options& options,
                                                              std::vector<NamedExporter> exporters) {
  bool cycle_counter = options.clock == Options::Clock::kTsc;
  if (options.clock != Options::Clock::kMonotonic) {
    const CycleCounterFitness fitness = CheckCycleCounter();
    if (cycle_counter && !fitness.fit) {
      return absl::FailedPreconditionError(absl::StrCat("FERRET_CLOCK=tsc is not possible here: ", fitness.reason));
    }
    cycle_counter = fitness.fit;
  }

  std::unique_ptr<SessionRun> run(new SessionRun(options));
  run->recorder_ = RecorderFor(RecorderConfig(options));
  if (run->recorder_ == nullptr) {
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
  config.cycle_counter = cycle_counter;
  config.wall_offset_ns = WallOffsetNs();
  run->drain_ = std::make_unique<DrainThread>(config, run->recorder_, run.get());

  run->StartCuda(config.wall_offset_ns);

  SessionInfo info;
  const ProcessIdentity identity = IdentifyProcess();
  identity.CopyTo(&info);
  for (const std::string& line : identity.ignored) {
    if (options.log >= Options::Log::kWarning) std::fprintf(stderr, "ferret: %s\n", line.c_str());
  }
  info.start_ns = run->drain_->start_ns();
  info.options = DescribeOptions(options);
  if (!options.run_report.empty()) {
    info.file_opened = [report = options.run_report](const std::string& temporary_path, const std::string& final_path) {
      (void)ReportOpened(report, temporary_path, final_path);
    };
  }
  for (NamedExporter& exporter : exporters) {
    RunnerOptions runner;
    runner.name = exporter.name;
    runner.max_queue_bytes = options.exporter_queue_bytes;
    runner.on_thread_start = &Recorder::SuppressThisThread;
    runner.progress = [run = run.get()] { return run->Progress(); };
    run->runners_.push_back(std::make_unique<ExporterRunner>(std::move(exporter.exporter), info, std::move(runner)));
  }
  run->recorder_->Start(cycle_counter, WantsOf(options), !RecordsAt(options.schedule, 0));
  const bool drains = run->drain_->Start();
  if (!drains || !WindowSwitch::Global().Begin(options.schedule)) {
    Recorder::Stop();
    const absl::Time deadline = absl::Now() + options.stop_deadline;
    if (run->cuda_ != nullptr && !run->cuda_->Stop(Steady(deadline))) (void)run->owned_cuda_.release();
    if (drains) run->drain_->Finish(Steady(deadline));
    run->StopRunners(deadline).IgnoreError();
    return absl::ResourceExhaustedError("no thread could be started");
  }
  return run;
}

void SessionRun::StartCuda(int64_t wall_offset_ns) {
  device_session_ = internal::CudaSession::NewSession();
  if (options_.cuda == Options::Cuda::kOff) return;
  if (!options_.cuda_library.empty() && options_.log >= Options::Log::kWarning) {
    std::fprintf(stderr, "ferret: FERRET_CUDA_LIBRARY: CUDA times come from %s\n", options_.cuda_library.c_str());
  }
  internal::CudaSession::Config config;
  config.library = options_.cuda_library;
  config.scopes_per_second = options_.cuda_rate;
  config.ns_per_tick = drain_->ns_per_tick();
  config.now = [wall_offset_ns] { return MonotonicNs() + wall_offset_ns; };
  config.on_thread_start = &Recorder::SuppressThisThread;
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
  for (const auto& runner : runners_) runner->Push(batch);
}

absl::Status SessionRun::Flush(absl::Time deadline) {
  if (!drain_->Flush(Steady(deadline))) {
    return absl::DeadlineExceededError("the drain thread did not finish in time");
  }
  absl::Status status;
  for (const auto& runner : runners_) status.Update(runner->Flush(deadline));
  return status;
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
    return status;
  }
  device_over_.store(true, std::memory_order_release);
  if (cuda_hangs_) (void)owned_cuda_.release();
  return StopRunners(deadline);
}

// All at once: one that hangs must not take the others' time.
absl::Status SessionRun::StopRunners(absl::Time deadline) {
  for (const auto& runner : runners_) runner->RequestStop(deadline);
  absl::Status status;
  for (const auto& runner : runners_) status.Update(runner->Stop(deadline));
  return status;
}

std::map<uint32_t, LossCounts> SessionRun::LossesByThread() const {
  std::map<uint32_t, LossCounts> losses = ThreadRegistry::Global().Losses();
  for (const auto& [thread, before] : losses_before_) losses[thread] = Since(losses[thread], before);
  losses[0][LossReason::kStoppedRace] += drain_->stats().late;
  for (auto it = losses.begin(); it != losses.end();) it = it->second.total() == 0 ? losses.erase(it) : std::next(it);
  return losses;
}

LossCounts SessionRun::Losses() const {
  LossCounts losses;
  for (const auto& entry : LossesByThread()) losses += entry.second;
  return losses;
}

DeviceCounts SessionRun::DeviceLosses() const {
  // What the drain knows before what was asked: it is never more.
  DeviceCounts counts = drain_->stats().device;
  const DeviceCounts recording = internal::DeviceCounter::OfSession(device_session_).Sum();
  for (size_t i = 0; i < kDeviceLossCount; ++i) counts.lost[i] += recording.lost[i];
  counts.asked = recording.asked;
  if (cuda_ != nullptr) {
    const internal::PairTracker::Counts tracked = cuda_->counts();
    counts.clock = {tracked.placement.moved, tracked.placement.suspect, tracked.negative, tracked.breaks};
  }
  if (device_over_.load(std::memory_order_acquire)) {
    const uint64_t known = counts.timed + counts.total_lost();
    // A thread that got from one session into the next one in the middle of its first mark.
    counts.asked = std::max(counts.asked, known);
    // Threads that were there when the drain looked for the last time.
    counts.late = counts.asked - known;
    counts[DeviceLoss::kAbandonedAtStop] += counts.late;
  }
  return counts;
}

ExportProgress SessionRun::Progress() const {
  const internal::DrainStats stats = drain_->stats();
  ExportProgress progress;
  progress.events_built = stats.built;
  progress.lost = Losses();
  progress.links_made = stats.links_made;
  progress.links_evicted = stats.links_evicted;
  progress.links_unmatched = stats.links_unmatched;
  progress.links_hurried = stats.links_hurried;
  progress.ends_refused = ThreadRegistry::Global().ends_refused() - ends_refused_before_;
  progress.details_lost = Recorder::lost_details() - details_lost_before_;
  progress.remote_ends_unmatched = stats.unmatched_remote_ends;
  progress.names_inline = NameTable::Global().refused() - names_refused_before_;
  progress.clock_backward = stats.clock_backward;
  progress.clock_steps = stats.clock_steps;
  progress.device = DeviceLosses();
  return progress;
}

std::vector<SessionRun::Output> SessionRun::Outputs() const {
  std::vector<Output> outputs;
  for (const auto& runner : runners_) {
    outputs.push_back({runner->name(), runner->destination(), runner->counts(), runner->status()});
  }
  return outputs;
}

}  // namespace ferret
