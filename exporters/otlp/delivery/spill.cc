// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/delivery/spill_lock.h"
#include "runtime/export/file/run_id.h"

namespace ferret::otlp {
namespace {

constexpr uint64_t kLeastFileBytes = uint64_t{64} << 10;
constexpr uint64_t kMostFileBytes = uint64_t{64} << 20;
constexpr int kMostNames = 1000;

absl::Status Failure(const std::string& what) { return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno))); }

// A full disk is not a full set of files.
absl::Status DiskError(const std::string& path, const absl::Status& status) {
  return absl::UnavailableError(absl::StrCat(path, ": ", std::string(status.message())));
}

}  // namespace

Spill::Spill(SpillOptions options)
    : options_(std::move(options)),
      io_(options_.io != nullptr ? *options_.io : SystemFileIo()),
      file_bytes_(std::clamp(options_.max_bytes / 16, kLeastFileBytes, kMostFileBytes)) {}

Spill::~Spill() {
  for (const Record& record : records_) {
    if (record.file->fd >= 0) close(std::exchange(record.file->fd, -1));
  }
  if (current_ != nullptr && current_->fd >= 0) {
    close(current_->fd);
    if (current_->left == 0) unlink(current_->path.c_str());
  }
}

absl::StatusOr<std::shared_ptr<Spill::File>> Spill::MakeFile() {
  mkdir(options_.directory.c_str(), 0700);  // what fails here fails again, with a message, in open
  auto file = std::make_shared<File>();
  for (int attempt = 0; attempt < kMostNames && file->fd < 0; ++attempt) {
    file->path = absl::StrCat(options_.directory, "/ferret-", RunId(), "-", getpid(), "-", ++files_made_, kSpillSuffix);
    file->fd = open(file->path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file->fd < 0 && errno != EEXIST) break;
  }
  if (file->fd < 0) return Failure(absl::StrCat("cannot make ", file->path));
  // Best effort: where there are no locks, the name alone keeps others away.
  LockSpillFile(file->fd).IgnoreError();
  const std::string head = SpillHead();
  size_t written = 0;
  const absl::Status status = PWriteAll(io_, file->fd, head, 0, &written);
  if (!status.ok()) {
    close(file->fd);
    unlink(file->path.c_str());
    return DiskError(file->path, status);
  }
  file->size = head.size();
  bytes_ += file->size;
  return file;
}

absl::Status Spill::Append(Signal signal, Form form, uint64_t items, std::string_view body) {
  const uint64_t size = kSpillRecordHead + body.size();
  const bool needs_file = current_ == nullptr || !current_->writable || current_->size >= file_bytes_;
  if (bytes_ + size + (needs_file ? kSpillHeadBytes : 0) > options_.max_bytes || body.size() > UINT32_MAX) {
    return absl::ResourceExhaustedError(absl::StrCat(options_.directory, " has as much as it may have"));
  }
  if (needs_file) {
    absl::StatusOr<std::shared_ptr<File>> file = MakeFile();
    if (!file.ok()) return file.status();
    const std::shared_ptr<File> before = std::exchange(current_, *std::move(file));
    if (before != nullptr) RemoveIfDone(before.get());
  }
  const std::string head = SpillRecordHead(signal, form, items, body);
  size_t written = 0;
  const auto offset = static_cast<int64_t>(current_->size);
  absl::Status status = PWriteAll(io_, current_->fd, head, offset, &written);
  uint64_t in_all = written;
  if (status.ok()) {
    status = PWriteAll(io_, current_->fd, body, offset + static_cast<int64_t>(head.size()), &written);
    in_all += written;
  }
  if (!status.ok()) {
    // The next record begins where this one would have. If that cannot be, this file gets no more.
    if (in_all > 0 && io_.Truncate(current_->fd, offset) != 0) {
      current_->writable = false;
      current_->size += in_all;
      bytes_ += in_all;
    }
    return DiskError(current_->path, status);
  }
  records_.push_back({current_, current_->size, size, signal, items});
  current_->size += size;
  ++current_->left;
  bytes_ += size;
  return absl::OkStatus();
}

absl::StatusOr<SpilledRequest> Spill::Front() const {
  const Record& record = records_.front();
  std::string bytes(record.size, '\0');
  for (size_t read = 0; read < bytes.size();) {
    const ssize_t count = pread(record.file->fd, bytes.data() + read, bytes.size() - read,
                                static_cast<off_t>(record.offset + read));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failure(absl::StrCat("cannot read ", record.file->path));
    if (count == 0) return absl::DataLossError(absl::StrCat(record.file->path, " was cut short"));
    read += static_cast<size_t>(count);
  }
  absl::StatusOr<SpilledRequest> request = ParseSpillRecord(std::move(bytes));
  if (request.ok()) return request;
  return absl::DataLossError(absl::StrCat(record.file->path, ": ", std::string(request.status().message())));
}

void Spill::PopFront() {
  const Record record = std::move(records_.front());
  records_.pop_front();
  File* const file = record.file.get();
  --file->left;
  // If it fails, the request may be sent a second time after this process is gone; that is all.
  size_t written = 0;
  PWriteAll(io_, file->fd, {&kSpillTaken, 1}, static_cast<int64_t>(record.offset + kSpillStateAt), &written)
      .IgnoreError();
  RemoveIfDone(file);
}

void Spill::RemoveIfDone(File* file) {
  if (file->left > 0 || file->fd < 0) return;
  close(std::exchange(file->fd, -1));
  unlink(file->path.c_str());
  bytes_ -= file->size;
  if (current_.get() == file) current_.reset();
}

}  // namespace ferret::otlp
