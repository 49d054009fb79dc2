// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How long an EventList takes for a run's events: to take them in, to build their tree, to average them by key, to
// print the averages, and how much memory it needs. event_list_torch.py times torch's own EventList on the same events.
//
//     event_list [EVENTS] [--table]     nanoseconds an event; --table prints nothing but the table

#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "ferret/event_list.h"

namespace ferret {
namespace {

// A step of training as the drain delivers it, children before their parents: nine operators, each with two inner ones,
// the second of which has one more. No two rows of the table have the same times. event_list_torch.py makes the same.
constexpr int kOpsInStep = 9;
constexpr int kEventsInStep = 1 + 4 * kOpsInStep;
constexpr int64_t kStepNs = 1000000;

class Steps {
 public:
  Steps() {
    names_.emplace_back("ProfilerStep*");
    for (int op = 0; op < kOpsInStep; ++op) {
      for (const char* part : {"", "_first", "_second", "_inner"}) {
        names_.push_back("aten::operator" + std::to_string(op) + part);
      }
    }
  }

  template <typename Sink>
  void Write(int64_t events, Sink sink) {
    for (int64_t step = 0; step * kEventsInStep < events; ++step) {
      const int64_t start = step * kStepNs;
      const int64_t id = step * kEventsInStep + 1;
      for (int op = 0; op < kOpsInStep; ++op) {
        const int64_t at = start + 100000 * op + step % 1000;
        const uint32_t name = static_cast<uint32_t>(1 + 4 * op);
        const int64_t op_id = id + name;
        sink(Event(op_id + 1, op_id, name + 1, at + 5000, at + 31000 + 100 * op));
        sink(Event(op_id + 3, op_id + 2, name + 3, at + 50000, at + 70123 + 100 * op));
        sink(Event(op_id + 2, op_id, name + 2, at + 40000, at + 80000));
        sink(Event(op_id, id, name, at, at + 90000));
      }
      sink(Event(id, 0, 0, start, start + kStepNs));
    }
  }

 private:
  FunctionEvent Event(int64_t id, int64_t parent_id, uint32_t name, int64_t start_ns, int64_t end_ns) const {
    FunctionEvent event;
    event.id = id;
    event.parent_id = parent_id;
    event.name = names_[name];
    event.name_id = name + 1;
    event.thread = 1;
    event.start_ns = start_ns;
    event.end_ns = end_ns;
    return event;
  }

  std::vector<std::string> names_;
};

// Processor time, because the machine may be shared.
class Timer {
 public:
  // Nanoseconds since the last call, per event.
  double Lap(size_t events) {
    const int64_t now = Now();
    const double ns = static_cast<double>(now - last_);
    last_ = now;
    return ns / static_cast<double>(events);
  }

 private:
  static int64_t Now() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
  }

  int64_t last_ = Now();
};

// The most memory that was resident so far. Not getrusage's figure, which remembers what the process that started this
// one had.
int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

int Main(int64_t events, bool only_table) {
  Steps steps;
  const int64_t before = PeakBytes();
  Timer timer;
  EventList list;
  steps.Write(events, [&list](const FunctionEvent& event) { list.Add(event); });
  const size_t count = list.size();
  const double add = timer.Lap(count);
  const int64_t held = PeakBytes() - before;
  list.Build();
  const double build = timer.Lap(count);
  const int64_t peak = PeakBytes() - before;
  const EventAverages averages = list.key_averages();
  const double average = timer.Lap(count);
  TableOptions options;
  options.sort_by = "self_cpu_time_total";
  const std::string table = averages.table(options);
  const double print = timer.Lap(count);
  if (only_table) {
    std::fputs(table.c_str(), stdout);
    return 0;
  }
  const double n = static_cast<double>(count);
  std::printf("events=%zu rows=%zu add_ns=%.1f tree_ns=%.1f averages_ns=%.1f table_ns=%.3f total_ns=%.1f "
              "bytes_per_event=%.0f peak_bytes_per_event=%.0f\n",
              count, averages.size(), add, build, average, print, build + average + print,
              static_cast<double>(held) / n, static_cast<double>(peak) / n);
  return 0;
}

}  // namespace
}  // namespace ferret

int main(int argc, char** argv) {
  int64_t events = 10000000;
  bool only_table = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--table") == 0) {
      only_table = true;
    } else {
      events = std::strtoll(argv[i], nullptr, 10);
    }
  }
  if (events <= 0) {
    std::fprintf(stderr, "usage: event_list [EVENTS] [--table]\n");
    return 2;
  }
  return ferret::Main(events, only_table);
}
