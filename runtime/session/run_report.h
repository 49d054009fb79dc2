// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The run report: how `ferret run` learns what the processes below it wrote.
//
// `ferret run` makes an empty file and names it in FERRET_RUN_REPORT (Options::run_report). Every recording process
// appends lines of tab-separated fields, C-escaped so that a path may hold any byte:
//
//     pid  open   temporary path  final path       when an exporter opens a file that gets its final name at the end
//     pid  crash  path                             when it records into a crash file
//     pid  close  events  lost  destination        when a session has ended, once for each exporter that wrote
//
// Each line is one write() to a file opened with O_APPEND, so lines of many processes do not mix. What has an `open`, a
// temporary file that still exists and no living process was killed: `ferret run` gives the file its final name.

#ifndef FERRET_RUNTIME_SESSION_RUN_REPORT_H_
#define FERRET_RUNTIME_SESSION_RUN_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ferret {

struct RunReport {
  struct Opened {
    int32_t pid = 0;
    std::string temporary_path;  // absolute
    std::string final_path;      // absolute
  };
  struct Closed {
    int32_t pid = 0;
    uint64_t events = 0;
    uint64_t lost = 0;
    std::string destination;  // what Exporter::Destination() says
  };
  struct CrashFile {
    int32_t pid = 0;
    std::string path;  // absolute
  };
  std::vector<Opened> opened;
  std::vector<Closed> closed;
  std::vector<CrashFile> crash_files = {};
};

// Appends a line about the calling process to the report at `report`. Does nothing if `report` is empty. Relative paths
// are taken from the current directory. Any thread. An error only means that `ferret run` will not mention this output.
absl::Status ReportOpened(const std::string& report, const std::string& temporary_path, const std::string& final_path);
absl::Status ReportCrashFile(const std::string& report, const std::string& path);
absl::Status ReportClosed(const std::string& report, uint64_t events, uint64_t lost, const std::string& destination);

// Reads a report. Lines that are not of this form are skipped: any process of the run may write to the file.
RunReport ParseRunReport(absl::string_view text);

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_RUN_REPORT_H_
