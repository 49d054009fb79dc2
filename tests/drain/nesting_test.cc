// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Scopes of a thread nest, whatever threads do: leave scopes open, end them in the wrong order or on other threads, exit.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/drain/event_tree.h"

namespace ferret::internal {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint32_t kCases = 500;
#else
constexpr uint32_t kCases = 4000;
#endif

// Random threads that write as they go, with passes in between, and what should come of each scope.
class RandomScopes {
 public:
  explicit RandomScopes(uint32_t seed)
      : random_(seed), threads_(1 + Below(6)), harness_(static_cast<uint32_t>(threads_.size()), Config(seed), 700) {}

  void Run() {
    const uint32_t step = 1 + Below(4), pass_percent = Below(20);
    for (uint32_t left = Below(500); left > 0; --left) {
      now_ += Below(step);
      Act(1 + Below(static_cast<uint32_t>(threads_.size())));
      if (Chance(pass_percent)) harness_.Pass(now_);
    }
    ++now_;
    for (uint32_t thread = 1; thread <= threads_.size(); ++thread) CloseAll(thread);
    for (Scope& scope : scopes_) {
      if (scope.end == kOpen) Close(&scope, true);  // asynchronous and never ended
    }
    harness_.Finish(now_);
  }

  void Check() const {
    const CollectingSink& sink = harness_.sink;
    ASSERT_EQ(sink.events.size() - sink.Steps().size(), scopes_.size());
    ASSERT_EQ(sink.count, scopes_.size());
    ASSERT_EQ(harness_.builder().built(), scopes_.size());
    ASSERT_EQ(harness_.builder().unmatched_remote_ends(), unmatched_);
    ASSERT_EQ(harness_.builder().clock_backward(), 0u);
    std::vector<int64_t> ids(scopes_.size() + 1);
    for (const FunctionEvent& event : sink.events) {
      if (!event.is_synthesized) ids[event.name_id] = event.id;
    }
    for (const FunctionEvent& event : sink.events) {
      if (event.is_synthesized) continue;
      const Scope& scope = scopes_[event.name_id - 1];
      ASSERT_EQ(event.thread, scope.thread);
      ASSERT_EQ(event.start_ns, static_cast<int64_t>(scope.start));
      ASSERT_EQ(event.end_ns, static_cast<int64_t>(scope.end));
      ASSERT_EQ(event.is_async, scope.is_async) << event.name_id;
      ASSERT_EQ(event.is_truncated, scope.is_truncated) << event.name_id;
      ASSERT_EQ(event.parent_id, ids[scope.is_async ? 0 : scope.parent]) << event.name_id;
    }
    ExpectTree(sink);
  }

 private:
  static constexpr uint64_t kOpen = 0;
  struct Scope {
    uint32_t thread, handle;
    size_t parent;  // place in scopes_ plus one
    uint64_t start, end = kOpen;
    bool is_async = false, is_truncated = false;
  };
  struct Thread {
    std::vector<size_t> open;
    bool exited = false;
  };

  static EventBuilder::Config Config(uint32_t seed) {
    EventBuilder::Config config;
    config.batch_events = 1 + seed % 40;
    return config;
  }
  uint32_t Below(uint32_t limit) { return random_() % limit; }
  bool Chance(uint32_t percent) { return Below(100) < percent; }

  void Act(uint32_t id) {
    Thread& thread = threads_[id - 1];
    ThreadWriter& writer = harness_.thread(id);
    if (thread.exited) return;
    const uint32_t choice = Below(100);
    if (choice < 40) {
      const size_t place = scopes_.size();
      const size_t parent = thread.open.empty() ? 0 : thread.open.back() + 1;
      // Optimizers, so that steps are cut in between.
      const uint8_t flags = choice < 5 ? kAsync : Chance(15) ? kEndsStep : kNoFlags;
      const uint32_t handle = writer.Begin(now_, static_cast<uint32_t>(place + 1), flags);
      scopes_.push_back({id, handle, parent, now_, kOpen, flags == kAsync, false});
      if (flags != kAsync) thread.open.push_back(place);
    } else if (choice < 80) {
      if (thread.open.empty()) return;
      // Now and then not the innermost one.
      size_t depth = thread.open.size();
      if (Chance(10)) depth -= Below(static_cast<uint32_t>(depth));
      writer.End(now_, scopes_[thread.open[depth - 1]].handle);
      while (thread.open.size() > depth) CloseInnermost(&thread, true);
      CloseInnermost(&thread, false);
    } else if (choice < 88) {
      if (!scopes_.empty()) EndRemotely(&writer, Below(static_cast<uint32_t>(scopes_.size())));
    } else if (choice < 94) {
      writer.CutChunk(Chance(50));
    } else if (choice < 95) {
      writer.Exit(now_);
      CloseAll(id);
      thread.exited = true;
    }
  }

  void EndRemotely(ThreadWriter* writer, size_t place) {
    Scope& scope = scopes_[place];
    const bool is_declared = scope.is_async && scope.end == kOpen;
    if (!scope.is_async && threads_[scope.thread - 1].exited) return;
    // If such an end meets other ends of the scope or of those around it, what counts is which the drain reads first:
    // it must be the one that is the first. The one end of a declared asynchronous scope may be read whenever.
    if (!is_declared) harness_.Pass(now_);
    writer->RemoteEnd(now_, scope.thread, scope.handle);
    if (!is_declared) harness_.Pass(now_);
    if (scope.end != kOpen) {
      ++unmatched_;
      return;
    }
    if (!scope.is_async) {
      std::vector<size_t>& open = threads_[scope.thread - 1].open;
      const auto found = std::find(open.begin(), open.end(), place);
      // What is open inside goes on, one level further out.
      if (found + 1 != open.end()) scopes_[*(found + 1)].parent = scope.parent;
      open.erase(found);
    }
    scope.is_async = true;
    Close(&scope, false);
  }

  void Close(Scope* scope, bool truncated) {
    scope->end = now_;
    scope->is_truncated = truncated;
  }
  void CloseInnermost(Thread* thread, bool truncated) {
    Close(&scopes_[thread->open.back()], truncated);
    thread->open.pop_back();
  }
  void CloseAll(uint32_t id) {
    while (!threads_[id - 1].open.empty()) CloseInnermost(&threads_[id - 1], true);
  }

  std::mt19937 random_;
  std::vector<Thread> threads_;
  DrainHarness harness_;
  std::vector<Scope> scopes_;
  uint64_t now_ = 100;
  uint64_t unmatched_ = 0;
};

TEST(Nesting, HoldsOnEveryThreadWhateverIsLeftOpenOrEndedElsewhere) {
  for (uint32_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomScopes scopes(seed);
    scopes.Run();
    scopes.Check();
    if (HasFatalFailure()) return;
  }
}

TEST(Nesting, ScopesThatNeverEndedEndWithTheOneAroundThem) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t outer = thread.Begin(10, "outer");
  thread.Begin(20, "middle");
  thread.Scope(30, 40, "inner");
  thread.End(50, outer);
  harness.Finish(100);
  EXPECT_EQ(harness.sink.Named("middle").end_ns, 50);
  EXPECT_TRUE(harness.sink.Named("middle").is_truncated);
  EXPECT_EQ(harness.sink.Named("middle").self_ns, 20);
  EXPECT_FALSE(harness.sink.Named("outer").is_truncated);
  EXPECT_EQ(harness.sink.Named("outer").self_ns, 10);
  ExpectTree(harness.sink);
}

TEST(Nesting, AnEndOfAScopeThatIsNotOpenChangesNothing) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t first = thread.Begin(10, "first");
  thread.End(20, first);
  const uint32_t second = thread.Begin(30, "second");
  thread.End(40, first);
  thread.End(45, 4711);
  thread.End(50, second);
  harness.Finish(100);
  EXPECT_EQ(harness.sink.Named("first").end_ns, 20);
  EXPECT_EQ(harness.sink.Named("second").end_ns, 50);
  EXPECT_EQ(harness.sink.events.size(), 2u);
}

TEST(Nesting, ScopesEndWithTheirThreadOrWithTheSession) {
  DrainHarness harness(2);
  harness.thread(1).Begin(10, "of a thread that exits");
  harness.thread(1).Exit(30);
  harness.thread(2).Begin(20, "of a thread that goes on");
  harness.Pass(50);
  EXPECT_EQ(harness.sink.events.size(), 1u);
  harness.Finish(90);
  EXPECT_EQ(harness.sink.Named("of a thread that exits").end_ns, 30);
  EXPECT_TRUE(harness.sink.Named("of a thread that exits").is_truncated);
  EXPECT_EQ(harness.sink.Named("of a thread that goes on").end_ns, 90);
  EXPECT_TRUE(harness.sink.Named("of a thread that goes on").is_truncated);
}

// A thread that passed the enabled test in time may write while the last pass, which began earlier, looks at it.
TEST(Nesting, HoldsForWhatWasRecordedDuringTheLastPass) {
  DrainHarness harness(1);
  harness.thread(1).Begin(10, "outer");
  harness.thread(1).Scope(95, 105, "inner");
  harness.Finish(100);
  EXPECT_EQ(harness.sink.Named("outer").end_ns, 105);
  ExpectTree(harness.sink);
}

}  // namespace
}  // namespace ferret::internal
