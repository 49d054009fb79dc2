// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a reader makes of the crash file of a session that is killed at this moment.

#include <thread>

#include "ferret/internal/hot_path.h"
#include "tests/crash/crash_kit.h"

namespace ferret {
namespace {

using Recover = CrashSessionTest;
using internal::CrashContents;

void RecordMany(int count, const std::string& name) {
  for (int i = 0; i < count; ++i) { const Scope scope(name); }
}

TEST_F(Recover, HasEverythingWhenNothingWasExported) {
  gate_.Set(true);
  Start();
  std::thread([] {
    SetThreadName("worker of mine");
    const Scope outer("outer");
    { const OpScope op("forward", ForwardOp(7)); }
    { const OpScope op("backward", BackwardOp(7, ThreadId())); }
    Instant("moment");
    Counter("number", 1.5);
    internal::RecordMemory({64, 4096, 4096, 8192, 0, -1, false});
  }).join();
  const auto contents = Contents();
  Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  EXPECT_EQ(recovered.counts.events, 6u);
  EXPECT_EQ(recovered.counts.truncated, 0u);
  const Recovered::Event& outer = recovered.Only("outer");
  EXPECT_EQ(recovered.Only("forward").parent_id, outer.id);
  EXPECT_LE(outer.start_ns, recovered.Only("forward").start_ns);
  EXPECT_GE(outer.end_ns, recovered.Only("backward").end_ns);
  EXPECT_EQ(recovered.instants, (std::vector<std::string>{"moment", "number"}));
  EXPECT_EQ(recovered.memory, (std::vector<int64_t>{4096}));
  ASSERT_EQ(recovered.links.size(), 1u);
  EXPECT_EQ(recovered.links[0].forward_id, recovered.Only("forward").id);
  EXPECT_EQ(recovered.links[0].backward_id, recovered.Only("backward").id);
  EXPECT_NE(std::find(recovered.threads.begin(), recovered.threads.end(), "worker of mine"), recovered.threads.end());
}

TEST_F(Recover, TimesAreThoseThatTheSessionItselfGives) {
  Start();
  RecordMany(100, "timed");
  Settle();  // its chunk has its ids
  gate_.Set(true);  // hangs with what the drain has built; the collector goes on
  RecordMany(100, "timed");
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), std::nullopt);
  gate_.Set(false);
  ASSERT_TRUE(Stop60().ok());
  const CollectedTrace live = collector_->Take();
  ASSERT_EQ(live.events.size(), 200u);
  ASSERT_EQ(recovered.events.size(), 200u);
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(recovered.events[i].start_ns, live.events[i].start_ns);
    EXPECT_EQ(recovered.events[i].end_ns, live.events[i].end_ns);
    EXPECT_EQ(recovered.events[i].id, live.events[i].id);
  }
}

TEST_F(Recover, HasOnlyWhatIsNotSettled) {
  Start();
  RecordMany(500, "exported");
  Settle();
  gate_.Set(true);
  RecordMany(300, "not exported");
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  EXPECT_EQ(recovered.Count("exported"), 0u);
  EXPECT_EQ(recovered.Count("not exported"), 300u);
  EXPECT_EQ(ReplayOf(contents.get(), std::nullopt).Count("exported"), 500u);
}

TEST_F(Recover, OpenScopesEndWithTheLastRecordCutShort) {
  Start();
  const Scope outer("outer");
  { const Scope child("exported child"); }
  Settle();
  const CollectedTrace exported = collector_->Take();
  gate_.Set(true);
  const Scope inner("inner");
  { const Scope child("lost child"); }
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  EXPECT_EQ(recovered.events.size(), 3u);
  EXPECT_EQ(recovered.counts.truncated, 2u);
  EXPECT_TRUE(recovered.Only("outer").truncated);
  EXPECT_TRUE(recovered.Only("inner").truncated);
  EXPECT_EQ(recovered.Only("inner").parent_id, recovered.Only("outer").id);
  EXPECT_EQ(recovered.Only("lost child").parent_id, recovered.Only("inner").id);
  EXPECT_EQ(recovered.Only("outer").end_ns, recovered.Only("lost child").end_ns);
  // What was exported names the scope that is recovered.
  ASSERT_EQ(exported.events.size(), 1u);
  EXPECT_EQ(exported.events[0].parent_id, recovered.Only("outer").id);
}

// There is not room for endlessly many; a chunk that waited for room for ever would be lost to all threads.
TEST_F(Recover, ScopesThatAreTooManyToBeKeptHoldUpNobody) {
  Start();
  std::vector<AsyncScope> open;
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 1000; ++i) open.push_back(BeginAsync("open"));
    Settle();
  }
  RecordMany(100, "settled");
  Settle();
  EXPECT_EQ(Losses().total(), 0u);
  gate_.Set(true);
  RecordMany(10, "lost");
  const auto contents = Contents();
  const auto is_told = [](const std::string& note) { return note.find("open scopes were not kept") != note.npos; };
  const std::vector<std::string> notes = contents->Notes();
  EXPECT_EQ(std::count_if(notes.begin(), notes.end(), is_told), 1);
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  EXPECT_EQ(recovered.Count("lost"), 10u);
  EXPECT_GE(recovered.Count("open"), internal::kMaxCarriedScopes);
  gate_.Set(false);
  for (const AsyncScope& scope : open) EndAsync(scope);
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(collector_->Take().events.size(), open.size() + 110);
}

// Its begin is never to be seen: it came in an earlier session.
TEST_F(Recover, AnEndWithoutABeginHoldsUpNobody) {
  Start();
  EndAsync({1'000'000, 1});
  RecordMany(5000, "before");
  Settle();
  RecordMany(100, "after");
  Settle();
  EXPECT_EQ(Losses().total(), 0u);
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(collector_->Take().events.size(), 5100u);
}

TEST_F(Recover, OpenScopesOutliveTheirChunks) {
  Start();
  const std::string long_name = "open for long";
  const Scope outer(long_name);
  const OpScope op("open op", ForwardOp(11));
  int64_t children = 0;
  for (int i = 0; i < 20; ++i) {
    RecordMany(1500, "child");  // 48,000 bytes: most of a chunk
    Settle();
  }
  for (const auto& event : collector_->Take().events) children += event.end_ns - event.start_ns;
  gate_.Set(true);
  RecordMany(10, "lost");
  const auto contents = Contents();
  ASSERT_EQ(contents->threads().size(), 1u);
  const auto& thread = contents->threads().begin()->second;
  ASSERT_TRUE(thread.has_carried);
  EXPECT_EQ(thread.carried.size(), 2u);
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  EXPECT_EQ(recovered.Count("lost"), 10u);
  EXPECT_EQ(recovered.Count("child"), 0u);
  EXPECT_EQ(recovered.counts.events, 12u);
  const Recovered::Event& open = recovered.Only("open op");
  EXPECT_EQ(open.sequence_nr, 11);
  EXPECT_EQ(open.parent_id, recovered.Only(long_name).id);
  // Its children's time is known also where their records are gone.
  int64_t lost = 0;
  for (const auto& event : recovered.events) lost += event.name == "lost" ? event.end_ns - event.start_ns : 0;
  EXPECT_EQ(open.self_ns, open.end_ns - open.start_ns - children - lost);
  EXPECT_EQ(recovered.Only(long_name).self_ns, open.start_ns - recovered.Only(long_name).start_ns);
}

TEST_F(Recover, ScopesThatEndAfterTheirChunkIsGoneAreWhole) {
  Start();
  {
    const Scope outer("outer");
    for (int i = 0; i < 20; ++i) {
      RecordMany(1500, "child");
      Settle();
    }
    gate_.Set(true);
  }
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  EXPECT_EQ(recovered.counts.events, 1u);
  EXPECT_FALSE(recovered.Only("outer").truncated);
}

TEST_F(Recover, DeepStacksAreCarriedWhole) {
  Start();
  constexpr int kDepth = 50;
  std::vector<std::unique_ptr<Scope>> stack;
  for (int i = 0; i < kDepth; ++i) stack.push_back(std::make_unique<Scope>("level " + std::to_string(i)));
  for (int i = 0; i < 20; ++i) {
    RecordMany(1500, "child");
    Settle();
  }
  gate_.Set(true);
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  ASSERT_EQ(recovered.counts.events, static_cast<uint64_t>(kDepth));
  for (int i = 1; i < kDepth; ++i) {
    EXPECT_EQ(recovered.Only("level " + std::to_string(i)).parent_id,
              recovered.Only("level " + std::to_string(i - 1)).id);
  }
  while (!stack.empty()) stack.pop_back();
}

TEST_F(Recover, AsyncScopesThatEndedElsewhereAreNotThereTwice) {
  Start();
  const AsyncScope ended = BeginAsync("ended elsewhere");
  const AsyncScope open = BeginAsync("still open");
  // The chunks of the thread that ends it are recycled; that of this thread stays.
  std::thread([&] {
    EndAsync(ended);
    for (int i = 0; i < 20; ++i) {
      RecordMany(1500, "child");
      EXPECT_EQ(Flush(60'000), "");
    }
  }).join();
  Settle();
  gate_.Set(true);
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  EXPECT_EQ(recovered.Count("ended elsewhere"), 0u);
  EXPECT_TRUE(recovered.Only("still open").truncated);
  EXPECT_TRUE(recovered.Only("still open").async);
  EndAsync(open);
}

TEST_F(Recover, CarriedAsyncScopesThatEndedElsewhereAreNotThereTwice) {
  Start();
  const AsyncScope ended = BeginAsync("ended elsewhere");
  for (int i = 0; i < 20; ++i) {
    RecordMany(1500, "child");
    Settle();
  }
  std::thread([&] {
    EndAsync(ended);
    for (int i = 0; i < 20; ++i) {
      RecordMany(1500, "child");
      EXPECT_EQ(Flush(60'000), "");
    }
  }).join();
  Settle();
  gate_.Set(true);
  const auto contents = Contents();
  EXPECT_EQ(ReplayOf(contents.get(), Settled(*contents)).counts.events, 0u);
}

TEST_F(Recover, AsyncScopesOfThreadsThatAreGoneAreNotLost) {
  Start();
  AsyncScope open;
  uint32_t thread = 0;
  std::thread([&] {
    open = BeginAsync("begun by a thread that is gone");
    thread = ThreadId();
  }).join();
  const auto has_records = [&] {
    return Contents()->threads().at(thread).chunks.at(0).end > internal::kChunkHeaderBytes;
  };
  for (int i = 0; i < 20 && has_records(); ++i) {
    RecordMany(1500, "child");
    Settle();
  }
  ASSERT_FALSE(has_records()) << "its chunk is recycled";
  gate_.Set(true);
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  EXPECT_TRUE(recovered.Only("begun by a thread that is gone").truncated);
  EXPECT_TRUE(recovered.Only("begun by a thread that is gone").async);
  EndAsync(open);
}

TEST_F(Recover, BackwardOpsFindForwardOpsThatAreExported) {
  Start();
  { const OpScope op("forward", ForwardOp(3)); }
  Settle();
  const CollectedTrace exported = collector_->Take();
  gate_.Set(true);
  { const OpScope op("backward", BackwardOp(3, ThreadId())); }
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), Settled(*contents));
  ASSERT_EQ(recovered.links.size(), 1u);
  EXPECT_EQ(recovered.links[0].backward_id, recovered.Only("backward").id);
  ASSERT_EQ(exported.events.size(), 1u);
  EXPECT_EQ(recovered.links[0].forward_id, exported.events[0].id);
}

TEST_F(Recover, NothingIsLeftOfASessionThatEnded) {
  options_.crash_keep = true;
  Start();
  const Scope open("closed by the end");
  RecordMany(100, "exported");
  ASSERT_TRUE(Stop60().ok());
  const auto contents = Contents();
  EXPECT_EQ(ReplayOf(contents.get(), Settled(*contents)).counts.events, 0u);
  EXPECT_EQ(ReplayOf(contents.get(), std::nullopt).counts.events, 101u);
}

TEST_F(Recover, HangingExportersHoldChunksAndTheOverflowPolicyApplies) {
  gate_.Set(true);
  Start();
  RecordMany(30'000, "scope");  // 960,000 bytes into a buffer of half as many
  const auto contents = Contents();
  const size_t recovered = ReplayOf(contents.get(), Settled(*contents)).Count("scope");
  uint64_t lost = 0;
  for (const ThreadLoss& thread : LossesByThread()) lost += thread.lost[LossReason::kPoolExhausted];
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(recovered + lost, 30'000u);
}

}  // namespace
}  // namespace ferret
