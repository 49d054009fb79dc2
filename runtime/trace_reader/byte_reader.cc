// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/byte_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace ferret {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for gzip's header and checksum

class FileReader final : public ByteReader {
 public:
  explicit FileReader(int file) : file_(file) {}
  ~FileReader() override { close(file_); }

 private:
  absl::StatusOr<size_t> ReadStored(char* to, size_t size) override {
    for (;;) {
      const ssize_t count = read(file_, to, size);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EINTR) return absl::UnavailableError(strerror(errno));
    }
  }

  const int file_;
};

class MemoryReader final : public ByteReader {
 public:
  explicit MemoryReader(std::string_view bytes) : bytes_(bytes) {}

 private:
  absl::StatusOr<size_t> ReadStored(char* to, size_t size) override {
    const size_t count = std::min(size, bytes_.size());
    if (count != 0) std::memcpy(to, bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }

  std::string_view bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ByteReader>> ByteReader::OpenFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return absl::NotFoundError(strerror(errno));
  struct stat about = {};
  if (fstat(file, &about) == 0 && S_ISDIR(about.st_mode)) {
    close(file);
    return absl::InvalidArgumentError(strerror(EISDIR));
  }
  return std::make_unique<FileReader>(file);
}

std::unique_ptr<ByteReader> ByteReader::OfBytes(std::string_view bytes) {
  return std::make_unique<MemoryReader>(bytes);
}

ByteReader::~ByteReader() {
  if (mode_ == Mode::kGzip) inflateEnd(&inflater_);
}

absl::Status ByteReader::Refill() {
  if (stored_end_) return absl::OkStatus();
  // What is left moves to the front, so that two bytes that belong together are seen together.
  if (stored_ == nullptr) {
    stored_ = std::make_unique<char[]>(kStoredBytes);
  } else if (left_ != 0) {
    std::memmove(stored_.get(), at_, left_);
  }
  at_ = stored_.get();
  const absl::StatusOr<size_t> count = ReadStored(at_ + left_, kStoredBytes - left_);
  if (!count.ok()) return count.status();
  left_ += *count;
  stored_end_ = *count == 0;
  return absl::OkStatus();
}

absl::Status ByteReader::Start() {
  while (left_ < 2 && !stored_end_) {
    if (absl::Status status = Refill(); !status.ok()) return status;
  }
  const bool magic = left_ >= 2 && at_[0] == '\x1f' && at_[1] == '\x8b';
  if (magic && inflateInit2(&inflater_, kGzipWindow) != Z_OK) {
    return absl::ResourceExhaustedError("no memory to decompress with");
  }
  mode_ = magic ? Mode::kGzip : Mode::kPlain;
  return absl::OkStatus();
}

absl::StatusOr<size_t> ByteReader::Read(char* to, size_t size) {
  if (mode_ == Mode::kUnknown) {
    if (absl::Status status = Start(); !status.ok()) return status;
  }
  if (finished_ || size == 0) return size_t{0};
  if (mode_ == Mode::kGzip) return Inflate(to, size);
  if (left_ == 0) {
    if (absl::Status status = Refill(); !status.ok()) return status;
  }
  const size_t count = std::min(size, left_);
  if (count != 0) std::memcpy(to, at_, count);
  at_ += count;
  left_ -= count;
  finished_ = count == 0;
  return count;
}

absl::StatusOr<size_t> ByteReader::Inflate(char* to, size_t size) {
  inflater_.next_out = reinterpret_cast<Bytef*>(to);
  inflater_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1 << 30));
  const uInt room = inflater_.avail_out;
  while (inflater_.avail_out == room) {
    if (between_members_) {
      const absl::StatusOr<bool> more = NextMember();
      if (!more.ok()) return more.status();
      if (!*more) {
        finished_ = true;
        return size_t{0};
      }
    }
    if (left_ == 0) {
      if (absl::Status status = Refill(); !status.ok()) return status;
      if (left_ == 0) {
        finished_ = true;
        return absl::DataLossError("the compressed data ends early");
      }
    }
    inflater_.next_in = reinterpret_cast<Bytef*>(at_);
    inflater_.avail_in = static_cast<uInt>(left_);
    const int code = inflate(&inflater_, Z_NO_FLUSH);
    at_ += left_ - inflater_.avail_in;
    left_ = inflater_.avail_in;
    if (code == Z_STREAM_END) {
      between_members_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      // What this call gave before the damage may be damaged too: zlib checks at the end only.
      finished_ = true;
      return absl::DataLossError(absl::StrCat("the compressed data is damaged: ",
                                              inflater_.msg == nullptr ? "zlib refuses it" : inflater_.msg));
    }
  }
  return static_cast<size_t>(room - inflater_.avail_out);
}

absl::StatusOr<bool> ByteReader::NextMember() {
  // Zeros behind a member are padding, as of tapes.
  for (;;) {
    while (left_ != 0 && *at_ == '\0') {
      ++at_;
      --left_;
    }
    if (left_ >= 2 || stored_end_) break;
    if (absl::Status status = Refill(); !status.ok()) return status;
  }
  if (left_ == 0) return false;
  if (left_ < 2 || at_[0] != '\x1f' || at_[1] != '\x8b') {
    finished_ = true;
    return absl::DataLossError("the compressed data is followed by something else");
  }
  if (inflateReset(&inflater_) != Z_OK) return absl::InternalError("zlib cannot start again");
  between_members_ = false;
  return true;
}

}  // namespace ferret
