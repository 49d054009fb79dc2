// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/final_lines.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/session/run_report.h"
#include "runtime/threads/stderr_line.h"

namespace ferret {

void TellOfOutputs(const Options& options, const SessionRun& run) {
  const LossCounts losses = run.Losses();
  for (const SessionRun::Output& output : run.Outputs()) {
    const uint64_t lost = losses.total() + output.counts.dropped + output.counts.failed;
    const uint64_t events = output.counts.exported;
    // "memory" goes nowhere; a plug-in does not say where it goes.
    if (output.name == "memory" || (events == 0 && lost == 0 && output.counts.discarded == 0)) continue;
    if (!options.run_report.empty()) {
      for (const std::string& where : output.destinations) {
        (void)ReportClosed(options.run_report, events, lost, where.empty() ? output.name : where);
      }
      if (output.destinations.empty()) (void)ReportClosed(options.run_report, 0, lost, "flight recorder, no dump");
    } else if (options.log == Options::Log::kInfo || (lost != 0 && options.log == Options::Log::kWarning)) {
      std::string where = absl::StrJoin(output.destinations, ", ");
      if (where.empty()) where = output.name;
      const std::string kept = output.counts.discarded == 0 ? "" : absl::StrCat(output.counts.discarded, " discarded, ");
      WriteStderrLine(absl::StrCat(where, ": ", events, " events, ", kept, lost, " lost"));
    }
  }
}

}  // namespace ferret
