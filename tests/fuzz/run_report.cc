// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What `ferret run` reads of the processes below it, as a fuzz target: any of them may write anything to that file.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/session/run_report.h"
#include "tests/fuzz/property.h"

namespace {

using ferret::RunReport;

// As the processes write it.
std::string TextOf(const RunReport& report) {
  std::string text;
  for (const RunReport::Opened& opened : report.opened) {
    absl::StrAppend(&text, opened.pid, "\topen\t", absl::CEscape(opened.temporary_path), "\t",
                    absl::CEscape(opened.final_path), "\n");
  }
  for (const RunReport::CrashFile& file : report.crash_files) {
    absl::StrAppend(&text, file.pid, "\tcrash\t", absl::CEscape(file.path), "\n");
  }
  for (const RunReport::Closed& closed : report.closed) {
    absl::StrAppend(&text, closed.pid, "\tclose\t", closed.events, "\t", closed.lost, "\t",
                    absl::CEscape(closed.destination), "\n");
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const RunReport report = ferret::ParseRunReport({reinterpret_cast<const char*>(data), size});
  for (const RunReport::Opened& opened : report.opened) FUZZ_PROPERTY(opened.pid > 0);
  for (const RunReport::CrashFile& file : report.crash_files) FUZZ_PROPERTY(file.pid > 0);
  for (const RunReport::Closed& closed : report.closed) FUZZ_PROPERTY(closed.pid > 0);
  // Written again it says the same.
  const std::string text = TextOf(report);
  FUZZ_PROPERTY(TextOf(ferret::ParseRunReport(text)) == text);
  return 0;
}
