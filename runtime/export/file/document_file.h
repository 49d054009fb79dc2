// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DocumentFile: what an exporter writes its document into, wherever the target is.
//
// A regular file is claimed, grows under <target>.tmp as a complete document and is renamed into place when finished; a
// pipe, a device or /dev/stdout gets the text as it comes. Either may be gzipped. One thread at a time.
//
//   auto file = DocumentFile::Open({.path = "/data/trace.json"});
//   (*file)->Append(head, tail);     // again and again
//   (*file)->Finish(tail);           // /data/trace.json is there

#ifndef FERRET_RUNTIME_EXPORT_FILE_DOCUMENT_FILE_H_
#define FERRET_RUNTIME_EXPORT_FILE_DOCUMENT_FILE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/export/file/file_claim.h"
#include "runtime/export/file/file_io.h"
#include "runtime/export/file/growing_file.h"
#include "runtime/export/file/gzip_encoder.h"

namespace ferret {

struct DocumentFileOptions {
  std::string path;
  bool gzip = false;
  int gzip_level = GzipEncoder::kDefaultLevel;
  // False for a text that is complete after each piece, such as lines: every tail but the last one is empty, and nothing
  // but pieces is ever in the file.
  bool has_tail = true;
  std::string run_id;
  DiagnosticFn diagnostic;
  FileIo* io = nullptr;  // the system's
};

class DocumentFile {
 public:
  static absl::StatusOr<std::unique_ptr<DocumentFile>> Open(const DocumentFileOptions& options);
  ~DocumentFile();

  // As GrowingFile::Append. A piece of a plain regular file must keep its units in pages, see keeps_units_in_pages.
  absl::Status Append(std::string_view piece, std::string_view tail);
  absl::Status Retry();
  // Closes the document and puts it in place. Can be called again after an error.
  absl::Status Finish(std::string_view tail);
  // The same without what waits in memory. A gzipped document then keeps the tail that it has, as another one would have to
  // fit what was given up; so does one whose tail cannot be written, which is an error, but the document is put in place.
  // One of which nothing was written is not.
  absl::Status FinishWithoutBacklog(std::string_view tail);
  // After DataLoss: the file is given up, nothing of it stays.
  void Discard();

  size_t backlog_bytes() const { return file_->backlog_bytes(); }
  size_t backlog_pieces() const { return file_->backlog_pieces(); }
  // The text so far, without the tail.
  uint64_t text_bytes() const { return text_bytes_; }
  bool keeps_units_in_pages() const { return keeps_units_in_pages_; }
  bool is_stream() const { return claim_ == nullptr; }
  // Where the document is, or will be when it is finished.
  const std::string& path() const { return claim_ ? claim_->path() : path_; }
  // Where it grows until then. Not of a stream.
  std::string temporary_path() const { return claim_->path() + ".tmp"; }

 private:
  DocumentFile() = default;
  bool InOwnProcess() const;
  // Says which file it is about.
  absl::Status Named(const absl::Status& status) const;

  std::string path_;
  std::string run_id_;
  std::unique_ptr<FileClaim> claim_;  // null for a stream
  int stream_fd_ = -1;
  pid_t owner_ = 0;
  std::optional<GzipEncoder> gzip_;
  std::unique_ptr<GrowingFile> file_;
  bool keeps_units_in_pages_ = false;
  uint64_t text_bytes_ = 0;
  std::string encoded_;
  std::string encoded_tail_;
};

// Whether a target is written as it comes: it exists and is no regular file, or it names a descriptor of this process.
bool IsStreamTarget(const std::string& path);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_DOCUMENT_FILE_H_
