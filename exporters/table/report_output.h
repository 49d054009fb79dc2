// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Where reports go. On standard error, in a pipe or a device they follow each other; a regular file holds the latest
// one, under <path>.tmp until the end, so that it is there after a kill too (see file_claim.h).

#ifndef FERRET_EXPORTERS_TABLE_REPORT_OUTPUT_H_
#define FERRET_EXPORTERS_TABLE_REPORT_OUTPUT_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/export/file/file_claim.h"
#include "runtime/export/file/file_io.h"

namespace ferret::table {

class ReportOutput {
 public:
  static std::unique_ptr<ReportOutput> Stderr();
  // A regular file is claimed, a stream opened.
  static absl::StatusOr<std::unique_ptr<ReportOutput>> Open(const std::string& path, const std::string& run_id,
                                                            const DiagnosticFn& diagnostic);
  ~ReportOutput();
  ReportOutput(const ReportOutput&) = delete;
  ReportOutput& operator=(const ReportOutput&) = delete;

  bool is_file() const { return is_file_; }
  std::string path() const;
  std::string temporary_path() const { return path() + ".tmp"; }

  // After an error the report before is there, as long as the disk takes what it had taken before. A file that somebody else
  // has removed is made again.
  absl::Status Write(std::string_view report);
  // Puts a file in place.
  absl::Status Finish();

 private:
  ReportOutput() = default;
  absl::Status Claim();
  absl::Status WriteToFile(std::string_view report);

  std::string path_;
  std::string run_id_;
  std::string latest_;  // what is in the file
  DiagnosticFn diagnostic_;
  std::unique_ptr<FileClaim> claim_;
  std::optional<FileWatch> watch_;
  bool is_file_ = false;  // then without a claim only if it could not be taken again
  int fd_ = -1;           // of a stream
  bool owns_fd_ = false;
  pid_t owner_ = 0;
};

}  // namespace ferret::table

#endif  // FERRET_EXPORTERS_TABLE_REPORT_OUTPUT_H_
