// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/chunk_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <type_traits>
#include <vector>

#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

ChunkPool::Config Config(uint32_t chunks, uint32_t max_chunks = 0, uint32_t max_threads = 4096) {
  return {kMinChunkBytes, chunks, std::max(chunks, max_chunks), max_threads};
}

TEST(ChunkPool, HandsOutEachFreshChunkOnceAndThenNone) {
  const auto pool = ChunkPool::Create(Config(10));
  std::set<Chunk*> taken;
  for (int i = 0; i < 10; ++i) taken.insert(pool->TakeFree());
  EXPECT_EQ(taken.size(), 10u);
  EXPECT_EQ(taken.count(nullptr), 0u);
  EXPECT_EQ(pool->TakeFree(), nullptr);
  EXPECT_EQ(pool->TakeFreeGrowing(), nullptr);
  EXPECT_EQ(pool->chunks_used(), 10u);
  for (const Chunk* chunk : taken) EXPECT_EQ(reinterpret_cast<uintptr_t>(chunk) % 64, 0u);
}

TEST(ChunkPool, GrowsToItsCapAndNotBeyond) {
  const auto pool = ChunkPool::Create(Config(3, 8));
  for (int i = 0; i < 3; ++i) EXPECT_NE(pool->TakeFree(), nullptr);
  EXPECT_EQ(pool->TakeFree(), nullptr);
  for (int i = 3; i < 8; ++i) EXPECT_NE(pool->TakeFreeGrowing(), nullptr);
  EXPECT_EQ(pool->TakeFreeGrowing(), nullptr);
  EXPECT_EQ(pool->chunks_used(), 8u);
}

TEST(ChunkPool, ARecycledChunkComesBackFreeAndIsCounted) {
  const auto pool = ChunkPool::Create(Config(1));
  Chunk* const chunk = pool->TakeFree();
  ASSERT_EQ(pool->TakeFree(), nullptr);
  const uint32_t recycled = pool->recycled();
  chunk->owner = 17;
  chunk->read_offset = 400;
  pool->Recycle(chunk);
  EXPECT_EQ(pool->recycled(), recycled + 1);
  EXPECT_EQ(pool->TakeFree(), chunk);
  EXPECT_EQ(chunk->owner.load(), kOwnerFree);
  EXPECT_EQ(chunk->read_offset, 0u);
  EXPECT_EQ(chunk->recycles, 1u);
}

// A breach of single-recycler. Debug builds stop; release builds keep the chunk out of circulation.
TEST(ChunkPool, AFreeChunkThatStillHasAnOwnerIsNeverHandedOut) {
  const auto pool = ChunkPool::Create(Config(1));
  Chunk* const chunk = pool->TakeFree();
  pool->Recycle(chunk);
  chunk->owner = 5;
#ifdef NDEBUG
  EXPECT_EQ(pool->TakeFree(), nullptr);
#else
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(pool->TakeFree(), "owner == kOwnerFree");
#endif
}

TEST(ChunkPool, RunsLowWhenFewerThanAQuarterCanBeHandedOut) {
  const auto pool = ChunkPool::Create(Config(100));
  std::vector<Chunk*> taken;
  for (int i = 0; i < 75; ++i) taken.push_back(pool->TakeFree());
  EXPECT_FALSE(pool->RunningLow());
  taken.push_back(pool->TakeFree());
  EXPECT_TRUE(pool->RunningLow());
  pool->Recycle(taken.back());
  EXPECT_FALSE(pool->RunningLow());
}

// Announcing happens in the training loop. One thread may have announced every chunk while the drain hangs, each of
// many threads a few: the queue has room, in order for each thread.
TEST(ChunkPool, TheOpenQueueTakesEveryChunkFromOneThread) {
  const auto pool = ChunkPool::Create(Config(16, 5000));
  moodycamel::ProducerToken token(pool->open_queue());
  std::vector<Chunk*> announced;
  while (Chunk* chunk = pool->TakeFreeGrowing()) {
    ASSERT_TRUE(pool->Announce(token, chunk)) << "after " << announced.size();
    announced.push_back(chunk);
  }
  ASSERT_EQ(announced.size(), 5000u);
  std::vector<Chunk*> taken(announced.size());
  ASSERT_EQ(pool->TakeAnnounced(taken.data(), taken.size()), announced.size());
  EXPECT_EQ(taken, announced);
}

TEST(ChunkPool, TheOpenQueueTakesChunksFromEveryThreadInTurn) {
  const auto pool = ChunkPool::Create(Config(1024));
  std::vector<moodycamel::ProducerToken> tokens;
  constexpr int kThreads = kUnderTsan ? 400 : 4096;
  for (int i = 0; i < kThreads; ++i) tokens.emplace_back(pool->open_queue());
  Chunk* taken[1024];
  // Each thread at some time has all of them.
  for (auto& token : tokens) {
    for (uint32_t i = 0; i < 1024; ++i) ASSERT_TRUE(pool->Announce(token, pool->chunk_at(i)));
    ASSERT_EQ(pool->TakeAnnounced(taken, 1024), 1024u);
  }
}

// The bound on chunk memory would be worth little if the queues that carry the chunks took as much again.
TEST(ChunkPool, ItsQueuesTakeLittleMemory) {
  const int64_t before = ResidentBytes();
  ChunkPool::Config config;  // the default, 64 MiB
  const auto pool = ChunkPool::Create(config);
  EXPECT_LT(ResidentBytes() - before, 8 << 20);
  config.chunks = config.max_chunks = 65'536;  // 4 GiB
  const auto large = ChunkPool::Create(config);
  EXPECT_LT(ResidentBytes() - before, 32 << 20);
}

TEST(ChunkPool, TouchesNoChunkThatIsNotUsedOrAskedFor) {
  ChunkPool::Config config;
  const auto pool = ChunkPool::Create(config);
  const int64_t before = ResidentBytes();
  const uint32_t chunks = 64;
  pool->Prefault(chunks);
  const int64_t prefaulted = ResidentBytes() - before;
  // 0 on kernels without MADV_POPULATE_WRITE.
  EXPECT_TRUE(prefaulted < 1 << 20 || (prefaulted >= 63 * 65'536 && prefaulted < 66 * 65'536)) << prefaulted;
  pool->Prefault(chunks);
  EXPECT_LT(ResidentBytes() - before, 66 * 65'536);
}

// A late thread may write into the chunk that it holds after the session's pool was given up.
TEST(ChunkPool, RetiringGivesMemoryBackAndLeavesChunksWritable) {
  const auto pool = ChunkPool::Create(ChunkPool::Config{});
  for (int i = 0; i < 256; ++i) {
    Chunk* const chunk = pool->TakeFree();
    std::fill(chunk->bytes(), chunk->bytes() + kDefaultChunkBytes, 'x');
  }
  const int64_t before = ResidentBytes();
  pool->Retire();
  EXPECT_LT(ResidentBytes(), before - (12 << 20));
  pool->chunk_at(0)->write_offset = 144;
  EXPECT_EQ(pool->chunk_at(0)->write_offset.load(), 144u);
}

// A mapped file of zeros for the pool's chunks.
class MovingChunks : public testing::Test {
 protected:
  MovingChunks() {
    EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(pool_->bytes())), 0);
    file_ = static_cast<char*>(mmap(nullptr, pool_->bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    EXPECT_NE(static_cast<void*>(file_), MAP_FAILED);
  }
  ~MovingChunks() override {
    munmap(file_, pool_->bytes());
    close(fd_);
  }

  Chunk* Open() {
    Chunk* const chunk = pool_->TakeFree();
    chunk->write_offset = kChunkHeaderBytes;
    chunk->owner = 17;
    return chunk;
  }
  // The two halves of a record, in between which a thread may be for as long as it does not run.
  static void Write(Chunk* chunk) { Put(chunk->bytes() + chunk->write_offset, 0, 0x1234567812345678); }
  static void Publish(Chunk* chunk) { chunk->write_offset += 8; }
  static uint64_t Word(const Chunk* chunk, uint32_t word) {
    uint64_t value;
    std::memcpy(&value, chunk->bytes() + kChunkHeaderBytes + 8 * word, 8);
    return value;
  }
  const Chunk* InFile(const Chunk* chunk) const {
    return reinterpret_cast<const Chunk*>(file_ + (chunk->bytes() - pool_->memory()));
  }

  const std::unique_ptr<ChunkPool> pool_ = ChunkPool::Create(Config(8));
  const int fd_ = memfd_create("chunks", MFD_CLOEXEC);
  char* file_ = nullptr;
};

TEST_F(MovingChunks, ThoseThatAreTakenAfterwardsAreInTheFile) {
  Chunk* const used = Open();
  pool_->Recycle(used);
  ASSERT_TRUE(pool_->MoveInto(file_));
  std::set<Chunk*> taken;
  for (int i = 0; i < 8; ++i) {
    Chunk* const chunk = Open();
    taken.insert(chunk);
    Write(chunk);
    EXPECT_EQ(InFile(chunk)->owner.load(), 17u);
    EXPECT_EQ(Word(InFile(chunk), 0), Word(chunk, 0));
  }
  EXPECT_EQ(taken.size(), 8u);
  EXPECT_EQ(pool_->TakeFree(), nullptr);
}

TEST_F(MovingChunks, ARecordThatIsBeingWrittenMeanwhileIsWhole) {
  Chunk* const chunk = Open();
  Write(chunk);
  ASSERT_TRUE(pool_->MoveInto(file_));
  Publish(chunk);
  Chunk* const in_file = Open();
  Write(chunk);
  Write(in_file);
  pool_->MoveBack(fd_, 0);
  Publish(chunk);
  Publish(in_file);
  EXPECT_EQ(chunk->write_offset, kChunkHeaderBytes + 16);
  EXPECT_EQ(Word(chunk, 0), 0x1234567812345678u);
  EXPECT_EQ(Word(chunk, 1), 0x1234567812345678u);
  EXPECT_EQ(in_file->write_offset, kChunkHeaderBytes + 8);
  EXPECT_EQ(Word(in_file, 0), 0x1234567812345678u);
  EXPECT_EQ(InFile(in_file)->write_offset, kChunkHeaderBytes) << "the file stays as it was";
}

TEST_F(MovingChunks, WithoutAFileToCopyAHeldOneIsWholeToo) {
  ASSERT_TRUE(pool_->MoveInto(file_));
  Chunk* const chunk = Open();
  Write(chunk);
  pool_->MoveBack(-1, 0);
  Publish(chunk);
  EXPECT_EQ(chunk->write_offset, kChunkHeaderBytes + 8);
  EXPECT_EQ(Word(chunk, 0), 0x1234567812345678u);
}

TEST_F(MovingChunks, AHeldOneFollowsWhenItIsRecycled) {
  Chunk* const chunk = Open();
  Write(chunk);
  ASSERT_TRUE(pool_->MoveInto(file_));
  EXPECT_TRUE(pool_->IsAway(0));
  EXPECT_EQ(InFile(chunk)->owner.load(), kOwnerFree) << "of an earlier session";
  pool_->Recycle(chunk);
  EXPECT_FALSE(pool_->IsAway(0));
  ASSERT_EQ(Open(), chunk);
  Write(chunk);
  EXPECT_EQ(Word(InFile(chunk), 0), Word(chunk, 0));

  pool_->MoveBack(fd_, 0);
  pool_->Recycle(chunk);
  EXPECT_EQ(InFile(chunk)->owner.load(), 17u) << "what is in the file stays as it was";
  ASSERT_EQ(Open(), chunk);
  EXPECT_EQ(Word(chunk, 0), 0u) << "memory of its own";
}

TEST_F(MovingChunks, OneThatIsTakenButNotYetOpenedStaysWhereItIs) {
  Chunk* const chunk = pool_->TakeFree();
  ASSERT_TRUE(pool_->MoveInto(file_));
  chunk->owner = 17;
  EXPECT_EQ(InFile(chunk)->owner.load(), kOwnerFree);
  std::set<Chunk*> taken;
  while (Chunk* const other = pool_->TakeFree()) taken.insert(other);
  EXPECT_EQ(taken.size(), 7u);
  EXPECT_EQ(taken.count(chunk), 0u);
}

TEST(ChunkPool, WithoutAddressSpaceThereIsNone) {
  ChunkPool::Config config;
  config.chunk_bytes = kMaxChunkBytes;
  config.chunks = 16;
  config.max_chunks = 1u << 31;  // 2 PiB
  EXPECT_EQ(ChunkPool::Create(config), nullptr);
}

// Line 0 is the writer's, line 1 the reader's.
TEST(ChunkPool, WriterAndReaderShareNoCacheLine) {
  EXPECT_EQ(offsetof(Chunk, read_offset) / 64, offsetof(Chunk, recycles) / 64);
  EXPECT_NE(offsetof(Chunk, write_offset) / 64, offsetof(Chunk, read_offset) / 64);
  EXPECT_NE(offsetof(Chunk, sealed) / 64, offsetof(Chunk, read_offset) / 64);
  EXPECT_EQ(alignof(ThreadState) % 64, 0u);
  EXPECT_EQ(sizeof(ThreadState) % 64, 0u);
}

// An implicit producer would be made for every thread that forgets its token.
TEST(ChunkPool, TheQueuesHaveNoImplicitProducers) {
  EXPECT_EQ(ChunkQueueTraits::INITIAL_IMPLICIT_PRODUCER_HASH_SIZE, 0u);
}

// A destructor would cost a guard on every access and run too early for records in other destructors.
TEST(ChunkPool, ThreadLocalDataNeedsNoConstructionAndNoDestruction) {
  EXPECT_TRUE(std::is_trivially_destructible_v<decltype(t_writer)>);
  EXPECT_TRUE(std::is_trivially_destructible_v<Writer>);
  EXPECT_TRUE(std::is_trivially_destructible_v<Site>);
}

}  // namespace
}  // namespace ferret::internal
