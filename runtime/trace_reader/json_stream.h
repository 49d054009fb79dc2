// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// JsonStream: the text of a trace as RapidJSON's parser reads it, a block at a time.
//
// Profilers have written, and still write, what strict JSON has no room for. Two such things are put right in passing,
// without changing any offset: control characters inside strings become blanks, and a bare N/A becomes an empty string.
// A byte 0 outside of strings, which the parser would take for the end, becomes one that it refuses.

#ifndef FERRET_RUNTIME_TRACE_READER_JSON_STREAM_H_
#define FERRET_RUNTIME_TRACE_READER_JSON_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "runtime/trace_reader/byte_reader.h"

namespace ferret {

class JsonStream {
 public:
  using Ch = char;  // RapidJSON's name

  // More than that in one string or one number is no trace, and would have to be held in memory.
  static constexpr uint64_t kMaxStringBytes = 16 << 20;
  static constexpr uint64_t kMaxNumberBytes = 4096;

  explicit JsonStream(ByteReader* reader);
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;

  // At the end the current byte is 0, and stays so.
  char Peek() const { return *at_; }
  char Take() {
    const char byte = *at_;
    if (++at_ == limit_) Refill();
    return byte;
  }
  size_t Tell() const { return static_cast<size_t>(offset_) + static_cast<size_t>(at_ - begin_); }

  // Where the current byte is: from 1.
  uint64_t line() const;
  bool at_end() const { return ended_; }
  // Why the text ended before its end: see ByteReader::Read, or a string or a number was too long.
  const absl::Status& status() const { return status_; }

  // Of RapidJSON's concept of a stream; only for parsing in place, which this is not for.
  void Put(char) {}
  void Flush() {}
  char* PutBegin() { return nullptr; }
  size_t PutEnd(char*) { return 0; }

 private:
  static constexpr size_t kBlockBytes = 64 * 1024;

  void Refill();
  void End(absl::Status status);
  // Puts right what the block holds. Returns how many bytes of it are ready: a bare N at its very end is not, until
  // what follows is known.
  size_t PutRight(size_t size, bool last);

  ByteReader* const reader_;
  std::unique_ptr<char[]> block_;
  const char* begin_;
  const char* at_;
  const char* limit_;
  uint64_t offset_ = 0;  // of begin_
  uint64_t lines_ = 0;   // newlines before begin_
  size_t held_ = 0;      // bytes behind limit_ that are not ready
  bool source_ended_ = false;
  bool ended_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  uint64_t run_ = 0;  // bytes of the current string or number so far
  absl::Status status_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_JSON_STREAM_H_
