// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// MemoryExporter: keeps what a session delivers, for tests and for programs that look at their own events.
//
//     auto collector = std::make_shared<MemoryCollector>();
//     // ... a session with std::make_unique<MemoryExporter>(collector) ...
//     CollectedTrace trace = collector->Take();
//
// The exporter belongs to its runner, which destroys it when the session stops; the collector is what remains. Both
// may be used on any thread at any time: a call on the collector waits at most for the copying of one batch.
//
// Not for a whole run: memory is bounded by the number of events, and what comes beyond the bound is not kept, counted.

#ifndef FERRET_EXPORTERS_MEMORY_MEMORY_EXPORTER_H_
#define FERRET_EXPORTERS_MEMORY_MEMORY_EXPORTER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ferret/event_batch.h"
#include "ferret/event_list.h"
#include "runtime/events/text_pool.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/exporter.h"

namespace ferret {

// Everything that was delivered, in order. Movable but not copyable: the names lie in `texts`.
struct CollectedTrace {
  SessionInfo info;
  std::vector<FunctionEvent> events;
  std::vector<InstantEvent> instants;
  std::vector<MemoryEvent> memory;
  std::vector<ForwardBackwardLink> links;
  std::vector<ThreadInfo> threads;  // the latest notice about each thread, by thread
  std::vector<DeviceInfo> devices;  // the same of devices and of their streams
  std::vector<StreamInfo> streams;
  ExportProgress progress;          // as of the latest flush or close
  uint64_t events_not_kept = 0;     // function events, instants and memory events beyond the bound
  uint64_t links_not_kept = 0;
  bool closed = false;
  TextPool texts;
  std::deque<EventDetails> details;  // of the events that have any
  std::deque<DeviceLaunch> launches;

  // The function events and what allocators did, with their tree, and with what scopes launched as their kernels.
  EventList ToEventList() const;

  bool complete() const { return closed && events_not_kept == 0 && links_not_kept == 0; }
};

class MemoryCollector {
 public:
  static constexpr size_t kDefaultMaxEvents = 1'000'000;

  // Names and details may take so much for each event of the bound, on average.
  static constexpr size_t kTextBytesPerEvent = 256;

  // Bound on function events, instants and memory events together; the same number bounds links, threads, devices, and
  // streams.
  explicit MemoryCollector(size_t max_events = kDefaultMaxEvents) : max_events_(max_events) {}

  // What was collected since the last Take. Ids of threads in events taken earlier are not corrected any more.
  CollectedTrace Take();

  // How many function events, instants and memory events are kept now.
  size_t size() const;

 private:
  friend class MemoryExporter;

  // New ids of threads by the old ones. Ids of Ferret's and of a framework's may be the same number for different
  // threads; together with the system's id they are not.
  using RenamedThreads = absl::flat_hash_map<std::pair<uint32_t, int32_t>, uint32_t>;

  void Add(const EventBatch& batch);
  bool HasRoom();
  void AddEvent(const FunctionEvent& event);
  void AddThreads(const std::vector<ThreadInfo>& threads);
  void AddDevices(const EventBatch& batch);
  void Renumber(const RenamedThreads& renamed);
  static void CorrectForwardThreads(CollectedTrace* trace);

  const size_t max_events_;
  mutable std::mutex mutex_;
  CollectedTrace trace_;
};

class MemoryExporter final : public Exporter {
 public:
  // `is_own`: the collector is to be found by LatestMemoryCollector once the exporter is open.
  explicit MemoryExporter(std::shared_ptr<MemoryCollector> collector, bool is_own = false)
      : collector_(std::move(collector)), is_own_(is_own) {}

  absl::Status Open(const SessionInfo& info) override;
  absl::Status Export(const EventBatch& batch) override;
  absl::Status Flush(const ExportProgress& progress, absl::Time deadline) override;
  absl::Status Close(const ExportProgress& progress, absl::Time deadline) override;

 private:
  const std::shared_ptr<MemoryCollector> collector_;
  const bool is_own_;
};

// Factory for ExporterRegistry, name "memory": no target; max_events=N.
absl::StatusOr<std::unique_ptr<Exporter>> CreateMemoryExporter(const ExporterSpec& spec);

// The collector of the exporter from CreateMemoryExporter that was last opened; null if there was none.
std::shared_ptr<MemoryCollector> LatestMemoryCollector();
// In a forked child: what the parent collected is the parent's. Allocates and frees nothing.
void ForgetLatestMemoryCollectorInChild();

}  // namespace ferret

#endif  // FERRET_EXPORTERS_MEMORY_MEMORY_EXPORTER_H_
