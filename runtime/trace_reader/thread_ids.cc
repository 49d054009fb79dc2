// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/thread_ids.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace ferret {
namespace {

struct Forward {
  RowIndex row = 0;
  bool on_several_rows = false;  // then it tells nothing
};

}  // namespace

std::vector<uint32_t> ThreadIds(const RawTrace& trace) {
  absl::flat_hash_map<int64_t, Forward> forwards;  // by sequence number
  for (const RawEvent& raw : trace.events) {
    const FunctionEvent& event = raw.event;
    if (event.sequence_nr < 0 || event.fwd_thread > 0 || raw.is_on_device()) continue;
    const auto [forward, is_new] = forwards.try_emplace(event.sequence_nr, Forward{raw.row, false});
    if (!is_new && forward->second.row != raw.row) forward->second.on_several_rows = true;
  }
  std::map<std::pair<uint32_t, RowIndex>, uint64_t> votes;
  for (const RawEvent& raw : trace.events) {
    if (raw.event.fwd_thread == 0) continue;
    const auto forward = forwards.find(raw.event.sequence_nr);
    if (forward == forwards.end() || forward->second.on_several_rows) continue;
    ++votes[{raw.event.fwd_thread, forward->second.row}];
  }
  std::vector<std::tuple<uint64_t, uint32_t, RowIndex>> ranked;
  for (const auto& [who, count] : votes) ranked.emplace_back(count, who.first, who.second);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) > std::get<0>(b); });

  std::vector<uint32_t> ids(trace.rows, 0);
  std::set<uint32_t> taken;
  for (const auto& [count, id, row] : ranked) {
    if (ids[row] == 0 && taken.insert(id).second) ids[row] = id;
  }
  uint32_t next = 1;
  for (uint32_t& id : ids) {
    if (id != 0) continue;
    while (taken.count(next) != 0) ++next;
    id = next++;
  }
  return ids;
}

}  // namespace ferret
