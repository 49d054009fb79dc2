// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/name_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ferret/internal/record_format.h"

namespace ferret::torch_adapter {
namespace {

// Stands for Ferret's name table. The cache lives as long as the process, so the tests use different names.
std::atomic<uint32_t> g_interned{0};
std::atomic<bool> g_table_full{false};

uint32_t Intern(std::string_view name) {
  static std::mutex mutex;
  static auto& ids = *new std::map<std::string, uint32_t, std::less<>>;
  if (g_table_full) return 0;
  ++g_interned;
  const std::lock_guard<std::mutex> lock(mutex);
  return ids.emplace(name, static_cast<uint32_t>(ids.size() + 1)).first->second;
}

TEST(NameCache, KnowsOperatorsThatLaunchNothing) {
  for (const char* name : {"aten::view", "aten::t", "aten::empty_strided", "aten::_unsafe_view", "aten::size"}) {
    const CachedName* const entry = FindName(name, &Intern);
    ASSERT_NE(entry, nullptr);
    EXPECT_FALSE(entry->launches) << name;
    EXPECT_STREQ(entry->text, name);
  }
  for (const char* name : {"aten::mm", "aten::", "aten::views", "aten::vie", "view", "mine::view", "AddmmBackward0"}) {
    const CachedName* const entry = FindName(name, &Intern);
    ASSERT_NE(entry, nullptr);
    EXPECT_TRUE(entry->launches) << name;
  }
}

TEST(NameCache, SameTextAtAnotherAddressIsTheSameEntry) {
  const std::string first = "same::text", second = first;
  const CachedName* const entry = FindName(first.c_str(), &Intern);
  ASSERT_NE(entry, nullptr);
  EXPECT_STREQ(entry->text, "same::text");
  EXPECT_EQ(FindName(second.c_str(), &Intern), entry);
}

TEST(NameCache, AnotherTextAtTheSameAddressIsAnotherEntry) {
  char text[32] = "AddmmBackward0";
  const CachedName* const first = FindName(text, &Intern);
  std::strcpy(text, "AddmmBackward");
  const CachedName* const shorter = FindName(text, &Intern);
  std::strcpy(text, "AddmmBackward01");
  const CachedName* const longer = FindName(text, &Intern);
  EXPECT_STREQ(first->text, "AddmmBackward0");
  EXPECT_STREQ(shorter->text, "AddmmBackward");
  EXPECT_STREQ(longer->text, "AddmmBackward01");
  EXPECT_EQ(std::set<uint32_t>({first->id, shorter->id, longer->id}).size(), 3u);
}

TEST(NameCache, NamesThatBeginAlikeOrDifferInOneByteAreOthersAtAnyLength) {
  alignas(8) char text[64];
  std::set<uint32_t> ids;
  size_t names = 0;
  // All at the same address, so that each is compared with the one before.
  const auto find = [&](const std::string& name) {
    std::memset(text, '#', sizeof(text));  // what follows the zero byte says nothing
    std::memcpy(text, name.c_str(), name.size() + 1);
    const CachedName* const entry = FindName(text, &Intern);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(name, entry->text);
    EXPECT_EQ(FindName(text, &Intern), entry);
    ids.insert(entry->id);
    ++names;
  };
  for (size_t length = 1; length < 40; ++length) {
    const std::string name(length, 'n');
    find(name);
    for (size_t changed = 0; changed < length; ++changed) {
      std::string other = name;
      other[changed] = '\x80';
      find(other);
      find(name);
      --names;
    }
  }
  EXPECT_EQ(ids.size(), names);
}

TEST(NameCache, NothingIsReadPastThePageThatANameEndsOn) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* const pages = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(pages), MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  for (size_t length = 0; length < 64; ++length) {
    char* const text = pages + page - length - 1;
    // A longer one was there, and is compared with: it begins alike.
    const std::string name(length, 'p');
    std::memcpy(text, name.c_str(), length + 1);
    const CachedName* const entry = FindName(text, &Intern);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(name, entry->text);
    EXPECT_EQ(FindName(text, &Intern), entry);
    if (length != 0) {
      text[length - 1] = 'q';
      EXPECT_NE(FindName(text, &Intern), entry);
      text[0] = '\0';
      EXPECT_STREQ(FindName(text, &Intern)->text, "");
    }
  }
  munmap(pages, 2 * page);
}

TEST(NameCache, HeadersAreThoseOfTheNamesRecords) {
  using internal::kFrameworkThreads, internal::kUserAnnotation, internal::RecordHeader, internal::RecordType;
  const CachedName* const name = FindName("Optimizer.step#SGD.step", &Intern);
  const uint8_t user = kFrameworkThreads | kUserAnnotation | internal::kEndsStep;
  EXPECT_EQ(name->op_header, RecordHeader(RecordType::kScopeBegin, 16, kFrameworkThreads, name->id));
  EXPECT_EQ(name->user_header, RecordHeader(RecordType::kScopeBegin, 16, user, name->id));
  EXPECT_EQ(name->long_op_header, RecordHeader(RecordType::kOpBegin, 32, kFrameworkThreads, name->id));
}

TEST(NameCache, AskedForANameOncePerProcess) {
  const uint32_t before = g_interned;
  for (int i = 0; i < 100; ++i) FindName("asked::once", &Intern);
  std::thread([] { FindName("asked::once", &Intern); }).join();
  EXPECT_EQ(g_interned, before + 1);
}

TEST(NameCache, EmptyNameIsAName) {
  ASSERT_NE(FindName("", &Intern), nullptr);
  EXPECT_STREQ(FindName("", &Intern)->text, "");
}

TEST(NameCache, LongNameIsNotCached) {
  const std::string longest(kMaxCachedLength, 'x'), longer(kMaxCachedLength + 1, 'x');
  ASSERT_NE(FindName(longest.c_str(), &Intern), nullptr);
  EXPECT_EQ(longest, FindName(longest.c_str(), &Intern)->text);
  EXPECT_EQ(FindName(longer.c_str(), &Intern), nullptr);
}

TEST(NameCache, NameWithoutAnIdIsAskedForAgainLater) {
  g_table_full = true;
  EXPECT_EQ(FindName("no::room", &Intern), nullptr);
  g_table_full = false;
  EXPECT_NE(FindName("no::room", &Intern), nullptr);
}

TEST(NameCache, FlagsFollowFromTheName) {
  using internal::kEndsStep, internal::kInheritsBackward, internal::kMarksStep, internal::kNoFlags;
  const CachedName* const engine = FindName("autograd::engine::evaluate_function: MulBackward0", &Intern);
  EXPECT_EQ(engine->op_flags, kInheritsBackward);
  EXPECT_EQ(engine->user_flags, kNoFlags);
  EXPECT_EQ(FindName("Optimizer.step#Adam.step", &Intern)->user_flags, kEndsStep);
  EXPECT_EQ(FindName("Optimizer.zero_grad#Adam.zero_grad", &Intern)->user_flags, kNoFlags);
  EXPECT_EQ(FindName("ProfilerStep#12", &Intern)->user_flags, kMarksStep);
  EXPECT_EQ(FindName("ProfilerStep#12", &Intern)->op_flags, kNoFlags);
  EXPECT_EQ(FindName("ProfilerStep", &Intern)->user_flags, kNoFlags);
}

TEST(NameCache, ThreadsThatAddTheSameNamesAgree) {
  constexpr int kThreads = 4, kNames = 500;
  std::vector<std::vector<const CachedName*>> found(kThreads);
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&mine, &ready] {
      ++ready;
      while (ready < kThreads) {
      }
      for (int i = 0; i < kNames; ++i) mine.push_back(FindName(("raced::" + std::to_string(i)).c_str(), &Intern));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kNames; ++i) {
    ASSERT_EQ("raced::" + std::to_string(i), found[0][i]->text);
    for (int t = 1; t < kThreads; ++t) ASSERT_EQ(found[t][i], found[0][i]);
  }
}

// Runs last: afterwards the cache is full.
TEST(NameCacheWhenFull, KeepsWhatItHasAndTakesNoMore) {
  ASSERT_NE(FindName("kept", &Intern), nullptr);
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 2 * kMaxCachedNames; ++i) {
    if (FindName(("filler " + std::to_string(i)).c_str(), &Intern) != nullptr) ++taken;
  }
  EXPECT_GT(taken, 0u);
  EXPECT_LE(taken, kMaxCachedNames);
  EXPECT_EQ(FindName("one too many", &Intern), nullptr);
  EXPECT_NE(FindName("kept", &Intern), nullptr);
  EXPECT_STREQ(FindName("filler 7", &Intern)->text, "filler 7");
}

}  // namespace
}  // namespace ferret::torch_adapter
