// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/launch_links.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace ferret {
namespace {

// Traces of whole microseconds cut both ends.
constexpr int64_t kSlackNs = 1000;

using Index = int64_t;

class Linker {
 public:
  explicit Linker(const RawTrace& trace) : events_(trace.events), links_(trace.events.size(), kNotLinked) {
    for (size_t i = 0; i < events_.size(); ++i) {
      const RawEvent& event = events_[i];
      if (event.is_op() && !event.event.is_async && event.external_id > 0) {
        ops_.try_emplace(event.external_id, static_cast<Index>(i));
      }
      if (event.event.is_legacy && !event.is_on_device()) marked_.try_emplace(event.external_id, static_cast<Index>(i));
      if (event.is_launch() && event.correlation > 0) launches_.try_emplace(event.correlation, static_cast<Index>(i));
    }
  }

  std::vector<int64_t> Link() && {
    std::vector<Index> undecided;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (!events_[i].is_launch() || Named(events_[i], &events_[i], &links_[i])) continue;
      undecided.push_back(static_cast<Index>(i));
    }
    LinkByTime(std::move(undecided));
    for (size_t i = 0; i < events_.size(); ++i) {
      const RawEvent& event = events_[i];
      if (event.is_marked_span()) {
        const auto marked = marked_.find(event.external_id);
        if (marked != marked_.end()) links_[i] = marked->second;
      }
      if (!event.is_device_work()) continue;
      const auto found = launches_.find(event.correlation);
      const Index launch = found == launches_.end() ? kNotLinked : found->second;
      if (Named(event, launch < 0 ? nullptr : &At(launch), &links_[i])) continue;
      if (launch >= 0) links_[i] = links_[static_cast<size_t>(launch)];
    }
    return std::move(links_);
  }

 private:
  const RawEvent& At(Index index) const { return events_[static_cast<size_t>(index)]; }

  // Whether the event's external id names an operator that was open at the launch, as far as the launch is known.
  bool Named(const RawEvent& event, const RawEvent* launch, int64_t* link) const {
    const auto op = ops_.find(event.external_id);
    if (op == ops_.end()) return false;
    const FunctionEvent& named = At(op->second).event;
    if (launch != nullptr) {
      const int64_t at = launch->event.start_ns;
      if (at < named.start_ns - kSlackNs || at > named.end_ns + kSlackNs) return false;
    } else if (event.event.start_ns < named.start_ns - kSlackNs || event.external_id == event.correlation) {
      return false;
    }
    *link = op->second;
    return true;
  }

  // Goes through the operators and launches of each row in the order of time, with a stack of the open operators.
  void LinkByTime(std::vector<Index> order) {
    if (order.empty()) return;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].is_op() && !events_[i].event.is_async) order.push_back(static_cast<Index>(i));
    }
    std::sort(order.begin(), order.end(), [this](Index a, Index b) {
      const RawEvent& x = At(a);
      const RawEvent& y = At(b);
      if (x.row != y.row) return x.row < y.row;
      if (x.event.start_ns != y.event.start_ns) return x.event.start_ns < y.event.start_ns;
      if (x.is_op() != y.is_op()) return x.is_op();  // a launch at an operator's start is inside it
      if (x.event.end_ns != y.event.end_ns) return x.event.end_ns > y.event.end_ns;
      return a < b;
    });
    std::vector<Index> open;
    RowIndex row = 0;
    for (const Index index : order) {
      const RawEvent& event = At(index);
      if (event.row != row) open.clear();
      row = event.row;
      // A launch that begins where an operator ends is still its own: ends are cut to whole microseconds.
      const auto is_over = [&event](const FunctionEvent& op) {
        return event.is_op() ? op.end_ns <= event.event.start_ns : op.end_ns < event.event.start_ns;
      };
      while (!open.empty() && is_over(At(open.back()).event)) open.pop_back();
      if (event.is_op()) {
        open.push_back(index);
      } else if (!open.empty()) {
        links_[static_cast<size_t>(index)] = open.back();
      }
    }
  }

  const std::deque<RawEvent>& events_;
  std::vector<int64_t> links_;
  absl::flat_hash_map<int64_t, Index> ops_;       // by external id
  absl::flat_hash_map<int64_t, Index> launches_;  // by correlation id
  absl::flat_hash_map<int64_t, Index> marked_;    // operators and annotations with marks around them, by external id
};

}  // namespace

std::vector<int64_t> LaunchLinks(const RawTrace& trace) { return Linker(trace).Link(); }

}  // namespace ferret
