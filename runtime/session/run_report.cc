// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/run_report.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/threads/write_signal_guard.h"

namespace ferret {
namespace {

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

absl::Status Append(const std::string& report, const std::string& line) {
  const WriteSignalGuard guard;
  // No O_CREAT: after the end of `ferret run` a process that outlives it must not leave a file.
  const int file = open(report.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", report));
  const ssize_t written = write(file, line.data(), line.size());
  const int error = errno;
  close(file);
  if (written < 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", report));
  if (static_cast<size_t>(written) != line.size()) return absl::DataLossError(absl::StrCat("short write to ", report));
  return absl::OkStatus();
}

}  // namespace

absl::Status ReportOpened(const std::string& report, const std::string& temporary_path, const std::string& final_path) {
  if (report.empty()) return absl::OkStatus();
  return Append(report, absl::StrCat(getpid(), "\topen\t", absl::CEscape(AbsolutePath(temporary_path)), "\t",
                                     absl::CEscape(AbsolutePath(final_path)), "\n"));
}

absl::Status ReportCrashFile(const std::string& report, const std::string& path) {
  if (report.empty()) return absl::OkStatus();
  return Append(report, absl::StrCat(getpid(), "\tcrash\t", absl::CEscape(AbsolutePath(path)), "\n"));
}

absl::Status ReportClosed(const std::string& report, uint64_t events, uint64_t lost, const std::string& destination) {
  if (report.empty()) return absl::OkStatus();
  return Append(report,
                absl::StrCat(getpid(), "\tclose\t", events, "\t", lost, "\t", absl::CEscape(destination), "\n"));
}

RunReport ParseRunReport(absl::string_view text) {
  RunReport report;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    int32_t pid = 0;
    if (fields.size() < 3 || !absl::SimpleAtoi(fields[0], &pid) || pid <= 0) continue;
    if (fields[1] == "open" && fields.size() == 4) {
      RunReport::Opened opened{pid, "", ""};
      if (absl::CUnescape(fields[2], &opened.temporary_path) && absl::CUnescape(fields[3], &opened.final_path)) {
        report.opened.push_back(opened);
      }
    } else if (fields[1] == "crash" && fields.size() == 3) {
      RunReport::CrashFile file{pid, ""};
      if (absl::CUnescape(fields[2], &file.path)) report.crash_files.push_back(file);
    } else if (fields[1] == "close" && fields.size() == 5) {
      RunReport::Closed closed{pid, 0, 0, ""};
      if (absl::SimpleAtoi(fields[2], &closed.events) && absl::SimpleAtoi(fields[3], &closed.lost) &&
          absl::CUnescape(fields[4], &closed.destination)) {
        report.closed.push_back(closed);
      }
    }
  }
  return report;
}

}  // namespace ferret
