// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Crash files that contradict themselves, made of real ones. What an exporter is given of them contradicts nothing: it may
// build a tree of parents without looking for circles.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <set>
#include <thread>

#include "runtime/crash/crash_layout.h"
#include "runtime/crash/crash_names.h"
#include "runtime/record/chunk.h"
#include "tests/crash/crash_kit.h"

namespace ferret {
namespace {

using internal::CarriedBlock;
using internal::CarriedScope;
using internal::Chunk;
using internal::CrashContents;
using internal::CrashHeader;
using internal::CrashPart;
using internal::CrashThread;
using ::testing::Contains;
using ::testing::SizeIs;

class DamagedCrashFile : public CrashSessionTest {
 protected:
  CrashHeader& header() { return *reinterpret_cast<CrashHeader*>(bytes_.data()); }
  template <typename Type>
  Type* PartAs(CrashPart which) {
    return reinterpret_cast<Type*>(bytes_.data() + header().parts[static_cast<size_t>(which)].offset);
  }
  std::vector<Chunk*> ChunksInUse() {
    std::vector<Chunk*> chunks;
    const uint64_t bytes = header().parts[static_cast<size_t>(CrashPart::kChunks)].bytes;
    for (uint64_t at = 0; at < bytes; at += header().chunk_bytes) {
      auto* const chunk = reinterpret_cast<Chunk*>(PartAs<char>(CrashPart::kChunks) + at);
      if (chunk->owner.load() != internal::kOwnerFree) chunks.push_back(chunk);
    }
    return chunks;
  }
  // The first block with scopes of a thread that has some.
  CarriedBlock* Carried() {
    auto* const threads = PartAs<CrashThread>(CrashPart::kThreads);
    for (uint32_t slot = 0; slot < internal::kCrashThreads; ++slot) {
      const uint32_t number = threads[slot].carried.load();
      if (number != 0) return PartAs<CarriedBlock>(CrashPart::kCarried) + number - 1;
    }
    return nullptr;
  }
  // A file with two scopes that were carried out of their chunk, and more scopes within them.
  void RecordCarried() {
    Start();
    const Scope outer("outer");
    const Scope inner("inner");
    while (!Contents()->threads().begin()->second.has_carried) {
      for (int n = 0; n < 1500; ++n) { FERRET_SCOPE("child"); }
      Settle();
    }
    { FERRET_SCOPE("last"); }
    Settle();
    bytes_ = Bytes();
    ASSERT_NE(Carried(), nullptr);
    ASSERT_EQ(Carried()->count, 2u);
  }
  // What the file gives: every id once, and every parent before its children.
  Recovered ExpectTree() {
    auto contents = CrashContents::Read(bytes_);
    EXPECT_TRUE(contents.ok()) << contents.status();
    if (!contents.ok()) return {};
    notes_ = (*contents)->Notes();
    Recovered recovered = ReplayOf(contents->get(), std::nullopt);
    std::set<int64_t> ids;
    for (const Recovered::Event& event : recovered.events) {
      EXPECT_TRUE(ids.insert(event.id).second) << event.name << " has the id of another one, " << event.id;
      EXPECT_LT(event.parent_id, event.id) << event.name;
    }
    return recovered;
  }

  std::string bytes_;
  std::vector<std::string> notes_;
};

TEST_F(DamagedCrashFile, ChunksWithTheSameIdsGetOthers) {
  Start();
  const Scope open("open");
  Latch recorded, done;
  std::thread other([&] {
    { FERRET_SCOPE("of another thread"); }
    recorded.Open();
    done.Wait();  // while its thread lives a chunk stays
  });
  recorded.Wait();
  Settle();
  bytes_ = Bytes();
  done.Open();
  other.join();
  const std::vector<Chunk*> chunks = ChunksInUse();
  ASSERT_EQ(chunks.size(), 2u);
  chunks[0]->first_id = chunks[1]->first_id = 5;
  EXPECT_EQ(ExpectTree().events.size(), 2u);
  EXPECT_THAT(notes_, Contains("1 chunks have ids that others have, too"));
}

// As they are copied of a process whose drain is at work on them.
TEST_F(DamagedCrashFile, NothingIsWrongWithChunksThatHaveNoIdsYet) {
  gate_.Set(true);
  Start();
  for (int n = 0; n < 6000; ++n) { FERRET_SCOPE("child"); }
  bytes_ = Bytes();
  std::vector<Chunk*> chunks = ChunksInUse();
  ASSERT_GE(chunks.size(), 3u);
  std::sort(chunks.begin(), chunks.end(), [](const Chunk* a, const Chunk* b) { return a->sequence < b->sequence; });
  for (size_t i = 0; i < chunks.size(); ++i) chunks[i]->first_id = i == 1 ? 0 : 1 + 10'000 * i;
  EXPECT_EQ(ExpectTree().Count("child"), 6000u);
  EXPECT_THAT(notes_, SizeIs(1)) << "how much was found";
}

TEST_F(DamagedCrashFile, IdsOfChunksThatTheirOpenScopesHaveAreReplaced) {
  RecordCarried();
  for (Chunk* chunk : ChunksInUse()) chunk->first_id = 1;  // of the chunk before, from which scopes are open
  const Recovered recovered = ExpectTree();
  EXPECT_EQ(recovered.Only("inner").parent_id, recovered.Only("outer").id);
  EXPECT_EQ(recovered.Only("last").parent_id, recovered.Only("inner").id);
}

TEST_F(DamagedCrashFile, NewIdsComeAfterThoseOfOpenScopes) {
  RecordCarried();
  header().next_id.store(1);
  for (Chunk* chunk : ChunksInUse()) chunk->first_id = 0;
  CarriedScope* const scopes = Carried()->scopes;
  scopes[0].id = 1'000'000;
  scopes[1].parent_id = 1'000'000;
  scopes[1].id = 1'000'001;
  EXPECT_GT(ExpectTree().Only("last").id, 1'000'001);
}

TEST_F(DamagedCrashFile, OpenScopesThatAreInsideOfThemselvesAreLeftOut) {
  RecordCarried();
  Carried()->scopes[1].parent_id = Carried()->scopes[1].id;
  EXPECT_EQ(ExpectTree().Count("inner"), 0u);
  EXPECT_THAT(notes_, Contains("skipped 1 open scopes that cannot be"));
}

TEST_F(DamagedCrashFile, OpenScopesWithTheIdsOfInnerOnesAreLeftOut) {
  RecordCarried();
  Carried()->scopes[0].id = Carried()->scopes[1].id;
  ExpectTree();
  EXPECT_THAT(notes_, Contains("skipped 1 open scopes that cannot be"));
}

// Two hundred blocks in a circle for each of two hundred threads were 600,000 scopes: gigabytes, for a file with more.
TEST_F(DamagedCrashFile, BlocksOfOpenScopesAreReadOnce) {
  RecordCarried();
  CarriedBlock* const blocks = PartAs<CarriedBlock>(CrashPart::kCarried);
  const CarriedBlock one = *Carried();
  auto* const threads = PartAs<CrashThread>(CrashPart::kThreads);
  constexpr uint32_t kThreads = 200;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads[i].thread.store(1000 + i);
    threads[i].carried.store(i + 1);
    blocks[i] = one;
    blocks[i].thread = 1000 + i;
    blocks[i].next = i + 1;  // itself
    blocks[i].scopes[0].is_async = blocks[i].scopes[1].is_async = 1;
  }
  const auto contents = CrashContents::Read(bytes_);
  ASSERT_TRUE(contents.ok());
  // All have the ids of the first.
  EXPECT_THAT((*contents)->Notes(), Contains("skipped " + std::to_string(2 * (kThreads - 1)) + " open scopes that cannot be"));
}

// For each of 8,192 entries 1,024 blocks were copied again and again: 60 gigabytes.
TEST_F(DamagedCrashFile, ThreadsThatAreThereOftenAreReadOnce) {
  RecordCarried();
  auto* const threads = PartAs<CrashThread>(CrashPart::kThreads);
  CarriedBlock* const blocks = PartAs<CarriedBlock>(CrashPart::kCarried);
  const CarriedBlock one = *Carried();
  for (uint32_t i = 0; i < internal::kCarriedBlocks; ++i) {
    blocks[i] = one;
    blocks[i].next = i + 2;
  }
  for (uint32_t i = 0; i < internal::kCrashThreads; ++i) {
    threads[i].thread.store(one.thread);
    threads[i].carried.store(1);
  }
  const std::clock_t before = std::clock();
  ASSERT_TRUE(CrashContents::Read(bytes_).ok());
  EXPECT_LT(std::clock() - before, 5 * CLOCKS_PER_SEC);
}

TEST_F(DamagedCrashFile, HasNoMoreThreadsThanARealOne) {
  RecordCarried();
  CrashHeader::Part* const part = &header().parts[static_cast<size_t>(CrashPart::kThreads)];
  const uint64_t at = bytes_.size();
  constexpr uint32_t kThreads = 3 * internal::kCrashThreads;
  part->offset = at;
  part->bytes = kThreads * sizeof(CrashThread);
  bytes_.resize(at + kThreads * sizeof(CrashThread));
  auto* const threads = PartAs<CrashThread>(CrashPart::kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) threads[i].thread.store(1000 + i);
  const auto contents = CrashContents::Read(bytes_);
  ASSERT_TRUE(contents.ok());
  EXPECT_LE((*contents)->threads().size(), internal::kCrashThreads + 2);
}

TEST(DamagedNames, AreNoMoreTextThanTheFileHas) {
  constexpr uint32_t kNames = 4'000;
  constexpr uint32_t kTextBytes = 1'000'000;
  std::string part(kNames * 8, '\0');
  for (uint32_t i = 0; i < kTextBytes; ++i) part.push_back(static_cast<char>('a' + i / 26 % 26 + i % 5));
  for (uint32_t i = 1; i < kNames; ++i) {
    const uint32_t entry[2] = {i, kTextBytes - i};  // each is nearly all of it
    std::memcpy(&part[i * 8], entry, sizeof(entry));
  }
  internal::CrashNames names;
  names.Open(part, kNames);
  uint64_t bytes = 0;
  std::set<uint32_t> ids;
  for (uint32_t i = 1; i < kNames; ++i) ids.insert(names.IdOf(i));
  for (const uint32_t id : ids) bytes += names.table().Text(id).size();
  EXPECT_LE(bytes, kTextBytes + 100);
  EXPECT_EQ(names.cut(), kTextBytes / internal::CrashNames::kMostNameBytes);
  EXPECT_EQ(names.missing(), kNames - 1 - names.cut());
  EXPECT_EQ(names.IdOf(UINT32_MAX), names.IdOf(0));
}

}  // namespace
}  // namespace ferret
