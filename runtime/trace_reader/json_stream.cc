// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/json_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferret {
namespace {

constexpr char kEnd[] = {'\0'};
constexpr char kRefused = '\x01';  // no JSON has it anywhere

bool OfNumber(char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; }

}  // namespace

JsonStream::JsonStream(ByteReader* reader)
    : reader_(reader), block_(std::make_unique<char[]>(kBlockBytes)), begin_(kEnd), at_(kEnd), limit_(kEnd) {
  Refill();
  constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";
  if (limit_ - at_ > 3 && std::memcmp(at_, kByteOrderMark, 3) == 0) at_ += 3;
}

uint64_t JsonStream::line() const { return lines_ + static_cast<uint64_t>(std::count(begin_, at_, '\n')) + 1; }

void JsonStream::End(absl::Status status) {
  ended_ = true;
  status_ = std::move(status);
  begin_ = at_ = kEnd;
  limit_ = kEnd + 1;
}

void JsonStream::Refill() {
  if (ended_) {
    at_ = begin_;
    return;
  }
  offset_ += static_cast<uint64_t>(limit_ - begin_);
  lines_ += static_cast<uint64_t>(std::count(begin_, limit_, '\n'));
  if (held_ != 0) std::memmove(block_.get(), limit_, held_);
  size_t ready = 0;
  size_t size = held_;
  while (ready == 0) {
    if (!source_ended_) {
      const absl::StatusOr<size_t> count = reader_->Read(block_.get() + size, kBlockBytes - size);
      if (!count.ok()) return End(count.status());
      source_ended_ = *count == 0;
      size += *count;
    }
    if (size == 0) return End(absl::OkStatus());
    ready = PutRight(size, source_ended_);
    if (run_ > (in_string_ ? kMaxStringBytes : kMaxNumberBytes)) {
      return End(absl::InvalidArgumentError(in_string_ ? absl::StrCat("a string of more than ", kMaxStringBytes, " bytes")
                                                       : absl::StrCat("a number of more than ", kMaxNumberBytes,
                                                                      " characters")));
    }
  }
  begin_ = at_ = block_.get();
  limit_ = begin_ + ready;
  held_ = size - ready;
}

size_t JsonStream::PutRight(size_t size, bool last) {
  char* const block = block_.get();
  for (size_t i = 0; i < size; ++i) {
    const char c = block[i];
    if (in_string_) {
      ++run_;
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        run_ = 0;
      } else if (static_cast<unsigned char>(c) < ' ') {
        block[i] = ' ';
      }
    } else if (c == '"') {
      in_string_ = true;
      run_ = 0;
    } else if (OfNumber(c)) {
      if (++run_ > kMaxNumberBytes) return i + 1;
    } else {
      run_ = 0;
      if (c == '\0') block[i] = kRefused;
      if (c == 'N') {
        if (size - i < 3 && !last) return i;
        if (size - i >= 3 && block[i + 1] == '/' && block[i + 2] == 'A') std::memcpy(block + i, "\"\" ", 3);
        if (block[i] == '"') i += 2;
      }
    }
  }
  return size;
}

}  // namespace ferret
