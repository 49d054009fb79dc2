// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/crash/crash_names.h"

#include <algorithm>

#include "runtime/crash/crash_bounds.h"

namespace ferret::internal {
namespace {

struct Entry {
  uint32_t offset = 0;
  uint32_t length = 0;
};

}  // namespace

void CrashNames::Open(std::string_view part, uint32_t entries) {
  part_ = part;
  entries_ = uint64_t{entries} * sizeof(Entry) > part.size() ? 0 : entries;
  bytes_left_ = part.size() - entries_ * sizeof(Entry);
  known_.assign(std::min<uint64_t>(entries_, NameTable::kMaxNames + 1), 0);
}

uint32_t CrashNames::IdOf(uint32_t id) {
  if (id < known_.size() && known_[id] != 0) return known_[id];
  uint32_t name = 0;
  if (id != 0 && id < known_.size()) {
    Entry entry;
    CopyFrom(part_, id * sizeof(entry), &entry);
    const std::string_view texts = part_.substr(entries_ * sizeof(entry));
    const uint32_t length = std::min(entry.length, kMostNameBytes);
    if (entry.offset <= texts.size() && entry.length <= texts.size() - entry.offset && length <= bytes_left_) {
      bytes_left_ -= length;
      cut_ += length < entry.length;
      name = table_.Intern(texts.substr(entry.offset, length));
    }
  }
  if (name == 0) {
    ++missing_;
    name = table_.Intern("(name not found)");
  }
  if (id < known_.size()) known_[id] = name;
  return name;
}

}  // namespace ferret::internal
