// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The events of a session, in the process that recorded them:
//
//     ferret::Start("memory");
//     Train();
//     ferret::Stop();
//     ferret::CollectedEvents run = ferret::TakeCollectedEvents();
//     std::cout << run.events.key_averages().table({"self_cpu_time_total"});
//
// The exporter `memory` keeps at most a million events (memory?max_events=N), about 300 bytes each and at most 256 more
// of names and details on average: it is for sessions of known length. For averages of a run of any length there is the exporter `table`.

#ifndef FERRET_COLLECTED_EVENTS_H_
#define FERRET_COLLECTED_EVENTS_H_

#include <cstdint>

#include "ferret/event_list.h"
#include "ferret/internal/hot_path.h"

namespace ferret {

struct CollectedEvents {
  // With their tree, in the order of their starts. Empty if there was no session with the exporter `memory`.
  EventList events;
  // Beyond the bound of the exporter; what the session itself lost is Losses().
  uint64_t events_not_kept = 0;
  // The session has ended, and nothing is missing but what Losses() counts.
  bool complete = false;
};

// What was collected since the last call, by the session that is on or the last one. Any thread; takes time in
// proportion to the events.
FERRET_EXPORT_SYMBOL CollectedEvents TakeCollectedEvents();

}  // namespace ferret

#endif  // FERRET_COLLECTED_EVENTS_H_
