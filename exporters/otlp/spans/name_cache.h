// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// NameCache: what an output makes of a name, made once.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_NAME_CACHE_H_
#define FERRET_EXPORTERS_OTLP_SPANS_NAME_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace ferret::otlp {

template <typename Prepared>
class NameCache {
 public:
  // What Get returned before for that id; null if it did not, or does not keep it.
  const Prepared* Find(uint32_t name_id) const { return name_id < by_id_.size() ? by_id_[name_id].get() : nullptr; }

  // `prepare` makes a Prepared of a name. What is returned lives until the next call.
  template <typename Prepare>
  const Prepared& Get(std::string_view name, uint32_t name_id, const Prepare& prepare) {
    // The name table bounds the ids; texts of this size in all of it cost 64 MiB, longer ones are prepared each time.
    constexpr size_t kLongest = 1024;
    if (name_id == 0 || name.size() > kLongest) {
      *unlisted_ = prepare(name);
      return *unlisted_;
    }
    if (name_id >= by_id_.size()) by_id_.resize(std::max<size_t>(size_t{name_id} + 1, by_id_.size() * 2));
    std::unique_ptr<Prepared>& prepared = by_id_[name_id];
    if (prepared == nullptr) prepared = std::make_unique<Prepared>(prepare(name));
    return *prepared;
  }

 private:
  std::vector<std::unique_ptr<Prepared>> by_id_;
  // Apart, since it may be aligned to more than what holds the cache should be.
  const std::unique_ptr<Prepared> unlisted_ = std::make_unique<Prepared>();
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_NAME_CACHE_H_
