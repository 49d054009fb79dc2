// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/replay_source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/delivery/request_split.h"
#include "exporters/otlp/delivery/spill_lock.h"
#include "runtime/trace_reader/byte_reader.h"

namespace ferret {
namespace {

using otlp::Form;
using otlp::Signal;
using otlp::SpilledRequest;

// Ferret's own are far smaller.
constexpr int64_t kLargestSpill = int64_t{1} << 30;
constexpr size_t kLongestLine = size_t{64} << 20;

class SpillSource final : public ReplaySource {
 public:
  static absl::StatusOr<std::unique_ptr<ReplaySource>> Make(const std::string& path, int fd, bool remove) {
    auto source = std::unique_ptr<SpillSource>(new SpillSource(path, fd, remove));
    const absl::Status locked = otlp::LockSpillFile(fd, remove);
    if (absl::IsFailedPrecondition(locked)) return locked;
    struct stat about = {};
    if (fstat(fd, &about) != 0) return absl::UnavailableError(strerror(errno));
    if (about.st_size > kLargestSpill) return absl::InvalidArgumentError("too large for a file of spilled requests");
    source->file_.resize(static_cast<size_t>(about.st_size));
    for (size_t read = 0; read < source->file_.size();) {
      const ssize_t count = pread(fd, source->file_.data() + read, source->file_.size() - read, static_cast<off_t>(read));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return absl::UnavailableError(strerror(errno));
      if (count == 0) source->file_.resize(read);
      read += static_cast<size_t>(count);
    }
    absl::StatusOr<otlp::SpillContents> contents = otlp::ReadSpillFile(source->file_);
    if (!contents.ok()) return contents.status();
    source->contents_ = *std::move(contents);
    if (source->contents_.damaged_bytes > 0) {
      source->NoteDamage(absl::StrCat(source->contents_.damaged_bytes, " bytes belong to no whole request"));
    }
    return source;
  }
  ~SpillSource() override { close(fd_); }

  std::optional<SpilledRequest> Next() override {
    for (; next_ < contents_.entries.size();) {
      const otlp::SpillEntry& entry = contents_.entries[next_++];
      if (entry.taken) continue;
      absl::StatusOr<SpilledRequest> request = otlp::ParseSpillRecord(file_.substr(entry.offset, entry.size));
      if (request.ok()) return *std::move(request);
    }
    return std::nullopt;
  }

  absl::Status Remove() override {
    if (!remove_) return absl::OkStatus();
    const uint64_t at = contents_.entries[next_ - 1].offset + otlp::kSpillStateAt;
    if (pwrite(fd_, &otlp::kSpillTaken, 1, static_cast<off_t>(at)) == 1) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("cannot take a delivered request out of it: ", strerror(errno)));
  }

  absl::Status RemoveFile() override {
    if (!remove_ || unlink(path_.c_str()) == 0) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("cannot remove it: ", strerror(errno)));
  }

 private:
  SpillSource(std::string path, int fd, bool remove) : path_(std::move(path)), fd_(fd), remove_(remove) {}

  const std::string path_;
  const int fd_;  // the only one: closing another one would end the lock
  const bool remove_;
  std::string file_;
  otlp::SpillContents contents_;
  size_t next_ = 0;
};

class LineSource final : public ReplaySource {
 public:
  explicit LineSource(std::unique_ptr<ByteReader> reader) : reader_(std::move(reader)) {}

  std::optional<SpilledRequest> Next() override {
    std::string line;
    while (ReadLine(&line)) {
      ++number_;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const auto spans = otlp::CountItems(Signal::kTraces, Form::kJson, line);
      const auto points = otlp::CountItems(Signal::kMetrics, Form::kJson, line);
      if (!spans.has_value() || !points.has_value()) {
        NoteDamage(absl::StrCat("line ", number_, " is no request in OTLP/JSON"));
        continue;
      }
      if (*spans + *points == 0) continue;  // an envelope with nothing in it
      SpilledRequest request;
      request.signal = *spans > 0 ? Signal::kTraces : Signal::kMetrics;
      request.form = Form::kJson;
      request.items = *spans > 0 ? *spans : *points;
      request.body = std::move(line);
      return request;
    }
    return std::nullopt;
  }

 private:
  // False at the end.
  bool ReadLine(std::string* line) {
    line->clear();
    for (;;) {
      const size_t newline = text_.find('\n', at_);
      const size_t end = newline == std::string::npos ? text_.size() : newline;
      if (line->size() + (end - at_) > kLongestLine) {
        NoteDamage(absl::StrCat("line ", number_ + 1, " is longer than ", kLongestLine,
                                " bytes: the file is read no further"));
        return false;
      }
      line->append(text_, at_, end - at_);
      at_ = end;
      if (newline != std::string::npos) {
        ++at_;
        return true;
      }
      text_.resize(size_t{64} << 10);
      at_ = 0;
      const absl::StatusOr<size_t> count = reader_->Read(text_.data(), text_.size());
      text_.resize(count.ok() ? *count : 0);
      if (!count.ok() && !failed_) {
        failed_ = true;
        NoteDamage(std::string(count.status().message()));
      }
      if (text_.empty()) return !line->empty();
    }
  }

  const std::unique_ptr<ByteReader> reader_;
  std::string text_;
  size_t at_ = 0;
  uint64_t number_ = 0;
  bool failed_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReplaySource>> ReplaySource::Open(const std::string& path, bool remove) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::NotFoundError(strerror(errno));
  std::string beginning(otlp::kSpillMagic.size(), '\0');
  const bool spill = pread(fd, beginning.data(), beginning.size(), 0) == static_cast<ssize_t>(beginning.size()) &&
                     beginning == otlp::kSpillMagic;
  if (!spill || remove) close(fd);
  if (!spill) {
    absl::StatusOr<std::unique_ptr<ByteReader>> reader = ByteReader::OpenFile(path);
    if (!reader.ok()) return reader.status();
    return std::make_unique<LineSource>(*std::move(reader));
  }
  if (!remove) return SpillSource::Make(path, fd, remove);
  const int writable = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (writable < 0) return absl::PermissionDeniedError(strerror(errno));
  return SpillSource::Make(path, writable, remove);
}

}  // namespace ferret
