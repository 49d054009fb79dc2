// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// TextPool: texts that outlive where they came from, each once. They stay where they are, also when the pool is moved.

#ifndef FERRET_RUNTIME_EVENTS_TEXT_POOL_H_
#define FERRET_RUNTIME_EVENTS_TEXT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ferret/text_arena.h"

namespace ferret {

class TextPool {
 public:
  std::string_view Intern(std::string_view text);
  // The same for a name of the process's name table, without hashing it.
  std::string_view InternNamed(std::string_view name, uint32_t name_id);

  // Of all texts together.
  size_t bytes() const { return bytes_; }

 private:
  absl::flat_hash_set<std::string_view> texts_;
  std::vector<std::string_view> by_name_id_;
  TextArena arena_;
  size_t bytes_ = 0;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_TEXT_POOL_H_
