// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// UnitBuffer: collects units of text (one event, say) into pieces for a GrowingFile.
//
// After every unit the document could be closed. For a gap file no unit may cross a multiple of kPageBytes of the file:
// one that would is pushed into the next page by blanks in front of it. A unit larger than a page stays as it is.
//
//   char* at = buffer.Begin(200);      // hands the piece over first if there is no room
//   at = WriteSomething(at);
//   buffer.End(at);

#ifndef FERRET_RUNTIME_EXPORT_FILE_UNIT_BUFFER_H_
#define FERRET_RUNTIME_EXPORT_FILE_UNIT_BUFFER_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/export/file/growing_file.h"

namespace ferret {

class UnitBuffer {
 public:
  // on_full takes piece() over and calls Clear.
  explicit UnitBuffer(std::function<void()> on_full) : data_(kPieceBytes), on_full_(std::move(on_full)) {}

  // Where the next piece will lie in the file, and whether its units must keep in pages. The buffer must be empty.
  void Reset(uint64_t file_offset, bool keep_in_pages) {
    offset_ = file_offset;
    keep_in_pages_ = keep_in_pages;
    size_ = 0;
  }

  // Room for a unit of at most `bytes`.
  char* Begin(size_t bytes) {
    // Twice: a unit that is pushed into the next page leaves blanks shorter than itself.
    if (data_.size() - size_ < 2 * bytes) MakeRoom(2 * bytes);
    return data_.data() + size_;
  }

  void End(char* end) {
    char* const begin = data_.data() + size_;
    size_t bytes = static_cast<size_t>(end - begin);
    if (keep_in_pages_) {
      const size_t in_page = (offset_ + size_) % kPageBytes;
      if (in_page + bytes > kPageBytes && bytes <= kPageBytes) {
        const size_t blanks = kPageBytes - in_page;
        memmove(begin + blanks, begin, bytes);
        memset(begin, ' ', blanks);
        bytes += blanks;
      }
    }
    size_ += bytes;
  }

  std::string_view piece() const { return {data_.data(), size_}; }
  bool empty() const { return size_ == 0; }

  void Clear() {
    offset_ += size_;
    size_ = 0;
  }

 private:
  void MakeRoom(size_t bytes) {
    if (size_ != 0) on_full_();
    if (data_.size() < bytes) data_.resize(bytes);
  }

  std::vector<char> data_;
  size_t size_ = 0;
  uint64_t offset_ = 0;
  bool keep_in_pages_ = false;
  const std::function<void()> on_full_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_UNIT_BUFFER_H_
