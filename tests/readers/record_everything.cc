// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that uses all of the recording interface on several threads and says, as JSON, how often:
//
//     record_everything STEPS ITEMS
//
// In each step two threads record ITEMS items: operators inside scopes inside annotations, instants and counters. Then
// the main thread does the same, hands asynchronous scopes to another thread to end, and ends the step.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

struct Counts {
  uint64_t slices = 0;  // scopes, annotations and operators
  uint64_t async = 0;
  uint64_t instants = 0;
  uint64_t counters = 0;

  void operator+=(const Counts& other) {
    slices += other.slices;
    async += other.async;
    instants += other.instants;
    counters += other.counters;
  }
};

// Forward operators on this thread; their backward runs wherever the numbers go.
struct Forward {
  int64_t first = 0;
  int64_t count = 0;
  uint32_t thread = 0;
};

Forward RecordItems(int items, Counts* counts) {
  thread_local int64_t next = 0;
  Forward forward = {next, items, ferret::ThreadId()};
  FERRET_ANNOTATION("items");
  for (int i = 0; i < items; ++i) {
    FERRET_SCOPE("item");
    {
      FERRET_OP_SCOPE("mul", ferret::ForwardOp(next++));
      FERRET_SCOPE("inner");
    }
    ferret::Instant("between");
    ferret::Counter("item", i);
  }
  *counts += {1 + 3 * static_cast<uint64_t>(items), 0, static_cast<uint64_t>(items), static_cast<uint64_t>(items)};
  return forward;
}

void RecordBackward(const Forward& forward, Counts* counts) {
  for (int64_t i = forward.count; i-- > 0;) {
    FERRET_OP_SCOPE("MulBackward", ferret::BackwardOp(forward.first + i, forward.thread));
  }
  counts->slices += static_cast<uint64_t>(forward.count);
}

// Begins on this thread, overlaps whatever comes, ends on another.
std::vector<ferret::AsyncScope> BeginSeveral(int count, Counts* counts) {
  std::vector<ferret::AsyncScope> scopes;
  for (int i = 0; i < count; ++i) scopes.push_back(ferret::BeginAsync(i % 2 == 0 ? "send" : "receive"));
  counts->async += static_cast<uint64_t>(count);
  return scopes;
}

void EndElsewhere(const std::vector<ferret::AsyncScope>& scopes) {
  std::thread([&] {
    for (const ferret::AsyncScope& scope : scopes) ferret::EndAsync(scope);
  }).join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int steps = std::atoi(argv[1]);
  const int items = std::atoi(argv[2]);
  ferret::SetThreadName("main \"thread\"");
  Counts total;
  // More at once than an exporter has tracks for.
  const std::vector<ferret::AsyncScope> all_run = BeginSeveral(600, &total);
  for (int step = 0; step < steps; ++step) {
    std::array<Counts, 2> counts;
    std::array<Forward, 2> forward;
    std::vector<std::thread> workers;
    for (size_t i = 0; i < counts.size(); ++i) {
      workers.emplace_back([&, i] {
        forward[i] = RecordItems(items, &counts[i]);
      });
    }
    const std::vector<ferret::AsyncScope> sent = BeginSeveral(3, &total);
    RecordItems(items, &total);
    for (std::thread& worker : workers) worker.join();
    for (const Forward& pass : forward) RecordBackward(pass, &total);
    for (const Counts& worker : counts) total += worker;
    EndElsewhere(sent);
    ferret::Step();
  }
  EndElsewhere(all_run);
  const ferret::Error error = ferret::Stop(60000);
  if (!error.empty()) std::fprintf(stderr, "%s\n", error.c_str());
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("{\"slices\": %llu, \"async\": %llu, \"instants\": %llu, \"counters\": %llu, \"lost\": %llu}\n",
              number(total.slices), number(total.async), number(total.instants), number(total.counters),
              number(ferret::Losses().total()));
  return error.empty() ? 0 : 1;
}
