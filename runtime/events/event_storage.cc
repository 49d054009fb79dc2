// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/event_storage.h"

#include <algorithm>
#include <cstring>

namespace ferret {
namespace {

constexpr size_t kBlockBytes = 64 * 1024;
// The recorder's name table is smaller than this; an id beyond it is not one of its.
constexpr uint32_t kMaxNameId = 1u << 20;

}  // namespace

std::string_view TextPool::Intern(std::string_view text) {
  if (text.empty()) return {};
  const auto found = texts_.find(text);
  if (found != texts_.end()) return *found;
  const std::string_view copy = Copy(text);
  texts_.insert(copy);
  return copy;
}

std::string_view TextPool::InternNamed(std::string_view name, uint32_t name_id) {
  if (name_id == 0 || name_id > kMaxNameId) return Intern(name);
  if (name_id >= by_name_id_.size()) by_name_id_.resize(std::max<size_t>(name_id + 1, by_name_id_.size() * 2));
  std::string_view& known = by_name_id_[name_id];
  // Compared, because an event of another process may carry an id that means something else here.
  if (known != name) known = Intern(name);
  return known;
}

std::string_view TextPool::Copy(std::string_view text) {
  if (text.size() > kBlockBytes / 8) {
    blocks_.push_back(std::make_unique<char[]>(text.size()));
    std::memcpy(blocks_.back().get(), text.data(), text.size());
    return {blocks_.back().get(), text.size()};
  }
  if (text.size() > free_bytes_) {
    blocks_.push_back(std::make_unique<char[]>(kBlockBytes));
    free_ = blocks_.back().get();
    free_bytes_ = kBlockBytes;
  }
  char* const at = free_;
  std::memcpy(at, text.data(), text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return {at, text.size()};
}

}  // namespace ferret
