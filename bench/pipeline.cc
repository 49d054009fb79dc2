// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole session as a program has it: one thread records, the drain builds FunctionEvents, exporters take them, the last
// of them the aggregate table, whose sum says how many arrived.
//
//   pipeline [--kind plain|linked] [--rate MILLIONS] [--seconds N | --scopes N] [--export SPECS] [--otlp QUERY]
//            [--window STEPS]
//
// --otlp: also to an OpenTelemetry receiver in a process of its own, which forgets what it gets, with these parameters of the
// exporter; the program marks a step every 1,000 scopes then.
// --window: record one step of so many, by the session's schedule, also into a gzipped Chrome trace; for --scopes that make
// whole cycles of steps. ns/scope is then that of scopes that are off, mostly.
//
// The thread records in bursts. With a rate it waits between them until the next one is due, so the rate is an average:
// a burst that was held up is caught up with. Without one it never waits.
//
// Prints one line of name=value pairs:
//   offered_M/s, finished_M/s   scopes that were to be recorded, and events in the table, a second
//   lost_%                      of what was offered; exact=yes: events + counted losses are all that was offered
//   ns/scope                    the median burst's, on the recording thread; x_floor: over two readings of the counter and a
//                               32-byte store, measured before and after the session
//   stop_s                      from the last record to complete files
//   rss_MiB, growth_MiB         at the end of recording; since a tenth of it had passed

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "bench/discarding_receiver.h"
#include "bench/floor.h"
#include "ferret/scope.h"
#include "ferret/session.h"
#include "runtime/clock/cpu_clock.h"

namespace {

using ferret::internal::ReadCycleCounter;

constexpr int kScopesInBurst = 200;
constexpr uint64_t kBurstsInStep = 5;

struct Options {
  bool linked = false;
  double rate = 30e6;    // scopes a second, 0: as fast as possible
  double seconds = 10;
  uint64_t scopes = 0;   // instead of seconds
  std::string exporters;  // besides the table
  const char* otlp = nullptr;
  uint64_t window = 0;  // steps, of which the last is recorded; 0: all are

  bool steps() const { return otlp != nullptr || window != 0; }
};

Options Parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const char* const value = arguments[i + 1];
    if (name == "--kind") options.linked = value == std::string("linked");
    if (name == "--rate") options.rate = std::atof(value) * 1e6;
    if (name == "--seconds") options.seconds = std::atof(value);
    if (name == "--scopes") options.scopes = std::strtoull(value, nullptr, 10);
    if (name == "--otlp") options.otlp = value;
    if (name == "--window") options.window = std::strtoull(value, nullptr, 10);
    if (name == "--export") options.exporters = value + std::string(",");
  }
  return options;
}

void Plain() {
  for (int i = 0; i < kScopesInBurst / 2; ++i) {
    FERRET_SCOPE("outer");
    FERRET_SCOPE("inner");
  }
}

void Linked(int64_t first, uint32_t thread) {
  constexpr int kOps = kScopesInBurst / 2;
  for (int i = 0; i < kOps; ++i) { FERRET_OP_SCOPE("forward", ferret::ForwardOp(first + i)); }
  for (int i = kOps; i-- > 0;) { FERRET_OP_SCOPE("backward", ferret::BackwardOp(first + i, thread)); }
}

// The median of a histogram of bursts by their ticks, which stays small however long the run is.
class Bursts {
 public:
  void Add(uint64_t ticks) { ++counts_[std::min<uint64_t>(ticks / kWidth, kBuckets - 1)]; }
  double MedianTicks() const {
    uint64_t all = 0, seen = 0;
    for (const uint64_t count : counts_) all += count;
    size_t bucket = 0;
    while (bucket < kBuckets - 1 && (seen += counts_[bucket]) * 2 < all) ++bucket;
    return (static_cast<double>(bucket) + 0.5) * kWidth;
  }

 private:
  static constexpr uint64_t kWidth = 16;
  static constexpr size_t kBuckets = 1 << 16;
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kBuckets);
};

double FloorTicks() {
  ferret::Floor floor(kScopesInBurst);
  Bursts bursts;
  for (int burst = 0; burst < 2000; ++burst) {
    floor.StartOver();
    const uint64_t start = ReadCycleCounter();
    for (int i = 0; i < kScopesInBurst; ++i) floor.Record();
    bursts.Add(ReadCycleCounter() - start);
  }
  return bursts.MedianTicks();
}

// The receiver's process, and where it listens.
pid_t StartReceiver(std::string* url) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(STDOUT_FILENO);  // whose reader waits for its end
    const ferret::otlp::DiscardingReceiver receiver;
    const std::string at = receiver.Url();
    if (write(ends[1], at.data(), at.size()) < 0) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  char text[200];
  const ssize_t length = read(ends[0], text, sizeof(text));
  *url = std::string(text, length > 0 ? static_cast<size_t>(length) : 0);
  return child;
}

double ResidentMiB() {
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// What the table says of the whole run.
struct Report {
  uint64_t events = 0;
  uint64_t lost = 0;  // for any reason, on the way to the table
};

Report ReadReport(const std::string& path) {
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  Report report;
  const auto number = [&text](std::string_view name, size_t from) {
    const size_t place = text.find(name, from);
    return place == std::string::npos ? 0 : std::strtoull(text.c_str() + place + name.size(), nullptr, 10);
  };
  report.events = number("\"events\": ", 0);
  // Nobody recorded these: the drain makes them of the marks.
  if (const size_t steps = text.find("ProfilerStep*"); steps != std::string::npos) {
    report.events -= number("\"count\": ", steps);
  }
  size_t at = text.find("\"lost\": {");
  const size_t end = text.find('}', at);
  while (at < end && (at = text.find("\": ", at + 9)) < end) report.lost += std::strtoull(text.c_str() + at + 3, nullptr, 10);
  return report;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = Parse(count, arguments);
  if (!ferret::CheckCycleCounter().fit) return 1;
  const uint64_t cycle = options.window * kBurstsInStep * kScopesInBurst;
  if (options.window != 0 && (options.scopes == 0 || options.scopes % cycle != 0)) {
    std::fprintf(stderr, "--window %" PRIu64 " needs --scopes, a multiple of %" PRIu64 "\n", options.window, cycle);
    return 2;
  }
  const ferret::Anchor from = ferret::ReadAnchor(true, 0, 16);
  char folder[] = "/tmp/ferret-pipeline-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const std::string report = folder + std::string("/table.json");
  double floor_ticks = FloorTicks();
  pid_t receiver = -1;
  std::string exporters = options.exporters;
  if (options.otlp != nullptr) {
    std::string url;
    receiver = StartReceiver(&url);
    if (receiver < 0 || url.empty()) return 1;
    exporters += "otlp:" + url.substr(0, url.find("/v1/")) + "?" + options.otlp + ",";
  }
  const std::string trace = folder + std::string("/trace.json.gz");
  if (options.window != 0) exporters += "chrome_trace:" + trace + ",";
  exporters += "table:" + report + "?format=json";
  ferret::Schedule schedule;
  if (options.window != 0) {
    schedule.unit = ferret::Schedule::Unit::kSteps;
    schedule.wait = options.window - 1;
    schedule.active = 1;
  }
  const std::string error = ferret::Start(exporters, schedule);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const ferret::Anchor to = ferret::ReadAnchor(true, 0, 16);
  const double ns_per_tick = static_cast<double>(to.target_ns - from.target_ns) / static_cast<double>(to.source - from.source);

  const auto ticks_per_burst =
      static_cast<uint64_t>(options.rate == 0 ? 0 : kScopesInBurst / options.rate * 1e9 / ns_per_tick);
  const auto ticks_in_all = static_cast<uint64_t>(options.scopes != 0 ? 1e18 : options.seconds * 1e9 / ns_per_tick);
  const uint64_t bursts_in_all = options.scopes != 0 ? options.scopes / kScopesInBurst : UINT64_MAX;
  const uint32_t thread = ferret::ThreadId();
  Bursts bursts;
  double early_mib = 0;
  const uint64_t start = ReadCycleCounter();
  uint64_t due = start, done = 0, end = start;
  while (done < bursts_in_all && end - start < ticks_in_all) {
    const uint64_t begin = ReadCycleCounter();
    if (options.linked) {
      Linked(static_cast<int64_t>(done) * kScopesInBurst / 2, thread);
    } else {
      Plain();
    }
    end = ReadCycleCounter();
    bursts.Add(end - begin);
    ++done;
    if (options.steps() && done % kBurstsInStep == 0) ferret::Step();
    due += ticks_per_burst;
    if (early_mib == 0 && (done > bursts_in_all / 10 || end - start > ticks_in_all / 10)) early_mib = ResidentMiB();
    while (static_cast<int64_t>(ReadCycleCounter() - due) < 0) {
    }
  }
  const double seconds = static_cast<double>(end - start) * ns_per_tick / 1e9;
  const double late_mib = ResidentMiB();
  const uint64_t stop_begin = ReadCycleCounter();
  const std::string stopped = ferret::Stop(600'000);
  const double stop_seconds = static_cast<double>(ReadCycleCounter() - stop_begin) * ns_per_tick / 1e9;
  if (!stopped.empty()) std::fprintf(stderr, "%s\n", stopped.c_str());
  floor_ticks = std::min(floor_ticks, FloorTicks());

  // Of whole cycles, one step each.
  const uint64_t recorded_bursts = options.window == 0 ? done : done / options.window;
  const uint64_t offered = recorded_bursts * kScopesInBurst;
  const Report found = ReadReport(report);
  if (receiver > 0) {
    kill(receiver, SIGKILL);
    waitpid(receiver, nullptr, 0);
  }
  unlink(report.c_str());
  unlink(trace.c_str());
  rmdir(folder);
  const double ns = bursts.MedianTicks() * ns_per_tick / kScopesInBurst;
  std::printf("offered_M/s=%.2f finished_M/s=%.2f lost_%%=%.4f exact=%s scopes=%" PRIu64 " ns/scope=%.2f x_floor=%.3f "
              "seconds=%.2f stop_s=%.3f rss_MiB=%.1f growth_MiB=%.1f\n",
              static_cast<double>(offered) / seconds / 1e6, static_cast<double>(found.events) / seconds / 1e6,
              100 * static_cast<double>(found.lost) / static_cast<double>(offered), found.events + found.lost == offered ? "yes" : "NO",
              done * kScopesInBurst, ns, bursts.MedianTicks() / floor_ticks, seconds, stop_seconds, late_mib, late_mib - early_mib);
  return 0;
}
