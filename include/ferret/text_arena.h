// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// TextArena: bytes that live together, in blocks that are used again. What it gave out stays where it is until Clear.

#ifndef FERRET_TEXT_ARENA_H_
#define FERRET_TEXT_ARENA_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace ferret {

class TextArena {
 public:
  static constexpr size_t kBlockBytes = 16 * 1024;

  TextArena() = default;
  TextArena(TextArena&& other) noexcept
      : blocks_(std::move(other.blocks_)), current_(std::exchange(other.current_, 0)),
        used_(std::exchange(other.used_, 0)) {}
  TextArena& operator=(TextArena&& other) noexcept {
    blocks_ = std::exchange(other.blocks_, {});
    current_ = std::exchange(other.current_, 0);
    used_ = std::exchange(other.used_, 0);
    return *this;
  }

  // A copy of the text.
  std::string_view Keep(std::string_view text) {
    if (text.empty()) return {};
    char* const at = Allocate(text.size());
    std::memcpy(at, text.data(), text.size());
    return {at, text.size()};
  }

  // Forgets everything. Blocks of the usual size are kept, up to so many bytes.
  void Clear(size_t kept_bytes = 256 * 1024) {
    const auto unusual = [](const Block& block) { return block.bytes != kBlockBytes; };
    blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(), unusual), blocks_.end());
    if (blocks_.size() > kept_bytes / kBlockBytes) blocks_.resize(kept_bytes / kBlockBytes);
    current_ = 0;
    used_ = 0;
  }

  // Memory of all blocks, used or not.
  size_t capacity_bytes() const {
    size_t bytes = 0;
    for (const Block& block : blocks_) bytes += block.bytes;
    return bytes;
  }
  // Nothing was kept since the last Clear.
  bool empty() const { return current_ == 0 && used_ == 0; }

 private:
  struct Block {
    std::unique_ptr<char[]> memory;
    size_t bytes = 0;
  };

  char* Allocate(size_t bytes) {
    // blocks_[current_] is filled to used_; the blocks behind it are free.
    while (current_ < blocks_.size() && blocks_[current_].bytes - used_ < bytes) {
      ++current_;
      used_ = 0;
    }
    if (current_ == blocks_.size()) {
      const size_t size = std::max(bytes, kBlockBytes);
      blocks_.push_back({std::unique_ptr<char[]>(new char[size]), size});
    }
    char* const at = blocks_[current_].memory.get() + used_;
    used_ += bytes;
    return at;
  }

  std::vector<Block> blocks_;
  size_t current_ = 0;
  size_t used_ = 0;
};

}  // namespace ferret

#endif  // FERRET_TEXT_ARENA_H_
