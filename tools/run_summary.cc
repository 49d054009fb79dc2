// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/run_summary.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/rescue.h"

namespace ferret {
namespace {

// A path below the current directory is shown relative to it.
std::string Shown(const std::string& path) {
  std::error_code error;
  const std::string prefix = absl::StrCat(std::filesystem::current_path(error).string(), "/");
  return absl::CHexEscape(!error && absl::StartsWith(path, prefix) ? path.substr(prefix.size()) : path);
}

// "a", "2 traces: a, b", "9 traces: a, b, c, d and 5 more"
std::string List(const std::vector<std::string>& paths) {
  constexpr size_t kMostNamed = 4;
  std::string list = paths.size() == 1 ? "" : absl::StrCat(paths.size(), " outputs: ");
  for (size_t i = 0; i < std::min(paths.size(), kMostNamed); ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ", ", Shown(paths[i]));
  }
  if (paths.size() > kMostNamed) absl::StrAppend(&list, " and ", paths.size() - kMostNamed, " more");
  return list;
}

std::string Finished(const std::vector<RunReport::Closed>& closed) {
  // Every exporter of a process got the same events: they count once.
  struct Counts {
    uint64_t events = 0;
    uint64_t lost = 0;
  };
  std::map<int32_t, Counts> processes;
  std::vector<std::string> destinations;
  for (const RunReport::Closed& output : closed) {
    Counts& counts = processes[output.pid];
    counts.events = std::max(counts.events, output.events);
    counts.lost = std::max(counts.lost, output.lost);
    const bool known = std::find(destinations.begin(), destinations.end(), output.destination) != destinations.end();
    if (!output.destination.empty() && !known) destinations.push_back(output.destination);
  }
  if (destinations.empty()) return "";
  Counts total;
  for (const auto& [pid, counts] : processes) {
    total.events += counts.events;
    total.lost += counts.lost;
  }
  return absl::StrCat(List(destinations), ": ", total.events, total.events == 1 ? " event, " : " events, ",
                      total.lost == 0 ? "none" : absl::StrCat(total.lost), " lost");
}

}  // namespace

std::vector<std::string> FinishRun(const RunReport& report, const std::string& run_id, bool told) {
  std::vector<std::string> rescued;
  std::vector<std::string> running;
  std::vector<std::string> failed;
  std::set<std::string> seen;
  for (const RunReport::Opened& output : report.opened) {
    if (!seen.insert(output.temporary_path).second) continue;
    const Rescue rescue = RescueFile(output, run_id);
    switch (rescue.outcome) {
      case Rescue::Outcome::kNothingToDo: break;
      case Rescue::Outcome::kStillWritten: running.push_back(output.temporary_path); break;
      case Rescue::Outcome::kRescued: rescued.push_back(rescue.path); break;
      case Rescue::Outcome::kFailed: failed.push_back(absl::CHexEscape(rescue.error)); break;
    }
  }

  std::vector<std::string> lines;
  const std::string finished = Finished(report.closed);
  if (!finished.empty()) lines.push_back(finished);
  if (!rescued.empty()) lines.push_back(absl::StrCat(List(rescued), ": cut short, the process was killed"));
  if (!running.empty()) lines.push_back(absl::StrCat(List(running), ": still being written"));
  constexpr size_t kMostFailed = 4;
  for (size_t i = 0; i < std::min(failed.size(), kMostFailed); ++i) lines.push_back(failed[i]);
  if (failed.size() > kMostFailed) lines.push_back(absl::StrCat("and ", failed.size() - kMostFailed, " more like these"));
  if (lines.empty() && !told) lines.push_back("nothing was recorded");
  return lines;
}

}  // namespace ferret
