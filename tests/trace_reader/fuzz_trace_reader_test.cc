// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Drives the fuzz target with damaged traces: the same ones in every run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/program.h"
#include "tests/trace_reader/trace_texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace ferret {
namespace {

constexpr int kExecutions = 12000;

// An operator with a kernel, and whatever else a trace may hold, some of it not quite JSON.
const std::vector<std::string>& Seeds() {
  static const auto* const kSeeds = new std::vector<std::string>{
      ReadFile(DataFile("tests/trace_reader/seeds/operators.json")),
      ReadFile(DataFile("tests/trace_reader/seeds/lenient.json")),
  };
  return *kSeeds;
}

// Pieces that are more likely to matter than any byte.
constexpr std::string_view kPieces[] = {
    "[",      "]",    "{",     "}",        ",",       ":",    "\"",    "\\",        "null",
    "true",   "NaN",  "1e999", "-",        "0.",      "N/",   "\\ud8", "\xff",      "\xe2\x82",
    "\"ts\"", "9e15", "[[[[",  "\"args\"", "\"X\"",   "\"e\"", "\"kernel\"", {"\0", 1}, "-9223372036854775808",
    "99999999999999999999",
};

class Mutator {
 public:
  std::string Next() {
    std::string text = Seeds()[Below(Seeds().size())];
    for (size_t changes = 1 + Below(6); changes > 0; --changes) Change(&text);
    if (Below(8) == 0) {
      text = Gzip(text);
      if (Below(2) == 0) Change(&text);
    }
    return text;
  }

 private:
  size_t Below(size_t limit) { return static_cast<size_t>(random_() % limit); }

  void Change(std::string* text) {
    if (text->empty()) return;
    const size_t at = Below(text->size());
    const size_t length = std::min(1 + Below(40), text->size() - at);
    switch (Below(6)) {
      case 0: (*text)[at] = static_cast<char>(random_()); break;
      case 1: text->erase(at, length); break;
      case 2: text->insert(at, text->substr(Below(text->size()), length)); break;
      case 3: text->insert(at, kPieces[Below(std::size(kPieces))]); break;
      case 4: text->replace(at, 1, kPieces[Below(std::size(kPieces))]); break;
      case 5: if (Below(10) == 0) text->resize(at); break;
    }
  }

  std::mt19937_64 random_{20260301};
};

TEST(FuzzTraceReader, StartsFromTracesThatCanBeRead) {
  for (const std::string& seed : Seeds()) EXPECT_TRUE(Parse(seed).result.ok()) << Parse(seed).result.status();
}

TEST(FuzzTraceReader, GivesEventsOrAnErrorForDamagedTraces) {
  Mutator mutator;
  int unreadable = 0;
  for (int i = 0; i < kExecutions; ++i) {
    const std::string text = mutator.Next();
    ASSERT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size()), 0);
    if (!Parse(text).result.ok()) ++unreadable;
  }
  // Changes that damage nothing would test nothing, and so would changes after which nothing is read.
  EXPECT_GT(unreadable, kExecutions / 4);
  EXPECT_LT(unreadable, kExecutions * 19 / 20);
}

TEST(FuzzTraceReader, TakesEveryBeginningOfATrace) {
  for (const std::string& seed : Seeds()) {
    for (size_t size = 0; size <= seed.size(); ++size) {
      ASSERT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(seed.data()), size), 0);
    }
  }
}

}  // namespace
}  // namespace ferret
