// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/text_pool.h"

#include <algorithm>

namespace ferret {
namespace {

// The recorder's name table is smaller than this; an id beyond it is not one of its.
constexpr uint32_t kMaxNameId = 1u << 20;

}  // namespace

std::string_view TextPool::Intern(std::string_view text) {
  if (text.empty()) return {};
  const auto found = texts_.find(text);
  if (found != texts_.end()) return *found;
  const std::string_view copy = arena_.Keep(text);
  texts_.insert(copy);
  bytes_ += copy.size();
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

}  // namespace ferret
