// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Drives the fuzz target with damaged traces: the same ones in every run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/trace_reader/trace_texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace ferret {
namespace {

constexpr int kExecutions = 12000;

const std::vector<std::string>& Seeds() {
  static const auto* const kSeeds = new std::vector<std::string>{
      R"({"schemaVersion": 1, "baseTimeNanoseconds": 1751410836000000000, "with_flops": 1, "profile_memory": 1, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm.out", "pid": 9, "tid": 9, "ts": 5589.250, "dur": 31.007, "args": {"External id": 2, "Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"], "Input Strides": [[32, 1], [16, 1]], "Concrete Inputs": ["", ""], "Sequence number": 41, "Fwd thread id": 0, "Call stack": "a.py(1): f;b.py(2): g", "Ev Idx": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 5590.4, "dur": 4.1, "args": {"External id": 2, "cbid": 211, "correlation": 81}},
{"ph": "s", "id": 81, "pid": 9, "tid": 9, "ts": 5590.4, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5618.9, "dur": 6.272, "args": {"External id": 2, "device": 0, "stream": 7, "correlation": 81, "grid": [2, 1, 1], "occupancy": {"a": 1.5}}},
{"ph": "X", "cat": "cpu_op", "name": "MmBackward0", "pid": 9, "tid": 10, "ts": 6000, "dur": 5, "args": {"Sequence number": 41, "Fwd thread id": 1}},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 5591, "args": {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": 4096}}
], "traceName": "t.json"})",
      R"([{"ph": "b", "cat": "cpu_op", "name": "rpc", "id": 1, "pid": 9, "tid": 9, "ts": 1e1}, {"ph": "e", "cat": "cpu_op", "name": "rpc", "id": 1, "pid": 9, "tid": 9, "ts": "12.5"},
{"ph": "X", "name": "ProfilerStep#3", "cat": "user_annotation", "pid": "Spans", "tid": "x", "ts": 0.0005, "dur": 9e2, "args": {"Collective name": "all_reduce", "Group size": 8, "Node id": 3, "Flops": 5, "Input Dims": [[[1], [2, 3]], []], "x": N/A, "y": [NaN, -Infinity], "z": "\u00e9\ud83d\ude00"}},
{"ph": "X", "cat": "python_function", "name": "a.py(1): f", "pid": 9, "tid": 9, "ts": 1, "dur": 2, "args": {"Python id": 1, "Python parent id": null}}])",
  };
  return *kSeeds;
}

// Pieces that are more likely to matter than any byte.
constexpr const char* kPieces[] = {"[",   "]",       "{",       "}",    ",",  ":",     "\"",      "\\",         "null", "true",
                                   "NaN", "1e999",   "-",       "0.",   "N/", "\\ud8", "\xff",    "\xe2\x82",   "[[[[", "-9223372036854775808",
                                   "9e15", "\"ts\"", "\"args\"", "\"X\"", "\0", "\"e\"", "\"kernel\"", "99999999999999999999"};

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
