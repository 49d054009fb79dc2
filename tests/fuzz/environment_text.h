// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An environment as a fuzz target's input: NAME=value, each ended by a byte 0, as the kernel hands one over.

#ifndef FERRET_TESTS_FUZZ_ENVIRONMENT_TEXT_H_
#define FERRET_TESTS_FUZZ_ENVIRONMENT_TEXT_H_

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ferret::fuzz {

class EnvironmentText {
 public:
  explicit EnvironmentText(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\0'), text.size());
      entries_.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    for (const std::string& entry : entries_) {
      pointers_.push_back(entry.c_str());
      const size_t equals = entry.find('=');
      // As getenv: the first one of a name.
      if (equals != entry.npos) values_.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    pointers_.push_back(nullptr);
  }

  const char* Get(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : found->second.c_str();
  }
  // As ::environ.
  const char* const* pointers() const { return pointers_.data(); }

 private:
  std::vector<std::string> entries_;
  std::vector<const char*> pointers_;
  std::map<std::string, std::string> values_;
};

// Fit to be shown: one line, with no control character in it.
inline bool IsOneLine(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

}  // namespace ferret::fuzz

#endif  // FERRET_TESTS_FUZZ_ENVIRONMENT_TEXT_H_
