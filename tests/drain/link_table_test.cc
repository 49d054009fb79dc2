// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/drain/link_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

namespace ferret::internal {
namespace {

OpenForward Forward(int64_t id) { return {id * 10, id, 1}; }

TEST(LinkTable, GivesAnOpOnce) {
  LinkTable table(8);
  table.Insert({1, 5}, Forward(1));
  OpenForward op;
  EXPECT_FALSE(table.Take({2, 5}, &op));
  EXPECT_FALSE(table.Take({1, 6}, &op));
  ASSERT_TRUE(table.Take({1, 5}, &op));
  EXPECT_EQ(op.id, 1);
  EXPECT_FALSE(table.Take({1, 5}, &op));
  EXPECT_EQ(table.size(), 0u);
}

TEST(LinkTable, KeepsOfOneKeyTheOpThatBeganLast) {
  LinkTable table(8);
  // Nested: the inner one ends first. Also if the clock did not move between their begins.
  table.Insert({1, 5}, {100, 2, 1});
  table.Insert({1, 5}, {100, 1, 1});
  OpenForward op;
  ASSERT_TRUE(table.Take({1, 5}, &op));
  EXPECT_EQ(op.id, 2);
  table.Insert({1, 5}, {100, 3, 1});
  table.Insert({1, 5}, {100, 4, 1});
  ASSERT_TRUE(table.Take({1, 5}, &op));
  EXPECT_EQ(op.id, 4);
}

// Against a list of keys by the time of their latest op, and the set of those that no later op of their thread has left
// `capacity` numbers behind. Small ranges of threads and numbers for much reuse, large ones for collisions and eviction.
TEST(LinkTable, KeepsTheNewestKeys) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const size_t capacity = 1 + random() % (seed % 3 == 0 ? 20000 : 300);
    const int64_t numbers = 1 + random() % (seed % 2 == 0 ? 20000 : 400);
    LinkTable table(capacity);
    using Key = std::pair<uint64_t, int64_t>;
    std::list<Key> newest_first;
    std::map<Key, std::pair<int64_t, std::list<Key>::iterator>> known;  // id of the latest op, place in the list
    std::set<Key> near;
    for (int64_t id = 1; id <= 30000; ++id) {
      const Key key{LinkThread(1 + random() % 3, random() % 2 == 0), random() % numbers};
      const auto found = known.find(key);
      if (random() % 4 != 0) {
        table.Insert({key.first, key.second}, Forward(id));
        if (found != known.end()) newest_first.erase(found->second.second);
        newest_first.push_front(key);
        known[key] = {id, newest_first.begin()};
        const Key far{key.first, key.second - static_cast<int64_t>(capacity)};
        near.erase(near.lower_bound({key.first, 0}), near.upper_bound(std::max(far, Key{key.first, -1})));
        near.insert(key);
        continue;
      }
      OpenForward op;
      const bool taken = table.Take({key.first, key.second}, &op);
      if (found == known.end()) {
        ASSERT_FALSE(taken);
        continue;
      }
      size_t place = 0;
      for (auto at = newest_first.begin(); at != found->second.second && place < capacity; ++at) ++place;
      if (place < capacity && near.count(key) != 0) {
        ASSERT_TRUE(taken) << "only " << place << " keys are newer, of " << capacity;
      }
      // What is there is the latest op, never an older one.
      if (taken) {
        ASSERT_EQ(op.id, found->second.first);
      }
      newest_first.erase(found->second.second);
      known.erase(found);
    }
    ASSERT_LE(table.size(), 2 * capacity + table.front_slots());
  }
}

TEST(LinkTable, CountsEveryKeyThatItForgets) {
  LinkTable table(100);
  uint64_t taken = 0;
  for (int64_t number = 0; number < 50'000; ++number) {
    table.Insert({1, number}, Forward(number + 1));
    OpenForward op;
    taken += number % 7 == 0 && table.Take({1, number / 2}, &op);
    ASSERT_EQ(table.size() + table.evicted() + taken, static_cast<uint64_t>(number + 1));
  }
  EXPECT_GT(table.evicted(), 30'000u);
}

TEST(LinkTable, GrowsForAsManyAsItHasRoomForAndNoFurther) {
  constexpr int64_t kNumbers = 600'000;
  LinkTable table(200'000);
  for (int64_t number = 0; number < kNumbers; ++number) {
    table.Insert({1, number}, Forward(number + 1));
    if (number == 1000) {
      EXPECT_EQ(table.front_slots(), LinkTable::kFirstSlots) << "the first ones do not fill it";
    }
    if (number == 131'000) {
      EXPECT_EQ(table.size(), 131'001u);
    }
  }
  EXPECT_EQ(table.front_slots(), 262'144u);
  // Nothing went behind it: what was displaced is older than the newest 200,000.
  EXPECT_EQ(table.size(), 262'144u);
  for (int64_t number = kNumbers; number-- > kNumbers - 200'000;) {
    OpenForward op;
    ASSERT_TRUE(table.Take({1, number}, &op)) << number;
    ASSERT_EQ(op.id, number + 1);
  }
}

// However few it has room for: while most of its places are free nothing has to go.
class LinkTableOfSize : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Capacities, LinkTableOfSize, testing::Values(100, 100'000));

TEST_P(LinkTableOfSize, FindsAnOldOpAmongFarMoreThatWereTaken) {
  LinkTable table(GetParam());
  table.Insert({1, 0}, Forward(1));
  table.Insert({65, 50'000}, Forward(2));  // shares what is known of its numbers with thread 1
  OpenForward op;
  for (int64_t number = 1; number < 60'000; ++number) {
    table.Insert({1, number}, Forward(number + 2));
    ASSERT_TRUE(table.Take({1, number}, &op));
    ASSERT_EQ(op.id, number + 2);
  }
  EXPECT_EQ(table.front_slots(), LinkTable::kFirstSlots);
  ASSERT_TRUE(table.Take({1, 0}, &op));
  EXPECT_EQ(op.id, 1);
  ASSERT_TRUE(table.Take({65, 50'000}, &op));
  EXPECT_EQ(op.id, 2);
  EXPECT_EQ(table.evicted(), 0u);
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace ferret::internal
