// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/table/aggregate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/events/event_maker.h"

namespace ferret::table {
namespace {

// Events of all kinds, with what they point to.
class RandomEvents {
 public:
  explicit RandomEvents(uint32_t seed, int names = 40) : random_(seed) {
    for (int i = 0; i < names; ++i) names_.push_back("name " + std::to_string(i));
  }

  FunctionEvent Next() {
    FunctionEvent event;
    const size_t name = random_() % names_.size();
    // Some names are in no table: their text is a new one each time.
    const bool in_table = name % 5 != 0;
    event.name_id = in_table ? static_cast<uint32_t>(name + 1) : 0;
    event.name = in_table ? std::string_view(names_[name]) : texts_.emplace_back(names_[name]);
    event.id = ++id_;
    event.start_ns = 1'000'000 + id_ * 10;
    event.end_ns = event.start_ns + static_cast<int64_t>(random_() % (1u << (1 + random_() % 30)));
    event.self_ns = event.duration_ns() / 3;
    event.is_user_annotation = random_() % 4 == 0;
    event.is_async = random_() % 16 == 0;
    event.is_legacy = random_() % 32 == 0;
    event.thread = static_cast<uint32_t>(1 + random_() % 8);
    if (random_() % 16 == 0) {
      event.device_type = DeviceType::kCuda;
      event.use_device = DeviceType::kCuda;
    }
    if (random_() % 8 == 0) {
      EventDetails& details = details_.emplace_back();
      details.cpu_memory_usage = static_cast<int64_t>(random_() % 1000) - 300;
      details.self_cpu_memory_usage = details.cpu_memory_usage / 2;
      details.flops = static_cast<int64_t>(random_() % 1'000'000);
      event.details = &details;
    }
    return event;
  }

 private:
  std::mt19937 random_;
  int64_t id_ = 0;
  std::vector<std::string> names_;
  std::deque<std::string> texts_;
  std::deque<EventDetails> details_;
};

using Key = std::tuple<std::string, DeviceType, bool, bool>;

struct Sums {
  int64_t count = 0, cpu = 0, self = 0, device = 0, memory = 0, self_memory = 0, flops = 0;
  std::vector<int64_t> durations;
};

Key KeyOf(const FunctionEvent& event) {
  return {std::string(event.name), event.device_type, event.is_legacy, event.is_user_annotation};
}

void Add(const FunctionEvent& event, Sums* sums) {
  ++sums->count;
  sums->cpu += event.device_type == DeviceType::kCpu ? event.end_ns - event.start_ns : 0;
  sums->self += event.device_type == DeviceType::kCpu && !event.is_async ? event.self_ns : 0;
  sums->device += event.device_time_total_ns();
  sums->durations.push_back(event.end_ns - event.start_ns);
  if (event.details == nullptr) return;
  sums->memory += event.details->cpu_memory_usage;
  sums->self_memory += event.details->self_cpu_memory_usage;
  sums->flops += event.details->flops;
}

void ExpectSame(const Row& row, Sums sums, const std::string& what) {
  const FunctionEventAvg& average = row.average;
  EXPECT_EQ(average.count, sums.count) << what;
  EXPECT_EQ(average.cpu_time_total_ns, sums.cpu) << what;
  EXPECT_EQ(average.self_cpu_time_total_ns, sums.self) << what;
  EXPECT_EQ(average.device_time_total_ns, sums.device) << what;
  EXPECT_EQ(average.cpu_memory_usage, sums.memory) << what;
  EXPECT_EQ(average.self_cpu_memory_usage, sums.self_memory) << what;
  EXPECT_EQ(average.flops, sums.flops) << what;
  std::sort(sums.durations.begin(), sums.durations.end());
  EXPECT_EQ(row.max_ns, sums.durations.back()) << what;
  for (const auto& [share, told] : {std::pair(0.50, row.p50_ns), {0.95, row.p95_ns}, {0.99, row.p99_ns}}) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sums.durations.size())));
    const auto exact = static_cast<double>(sums.durations[rank - 1]);
    EXPECT_NEAR(static_cast<double>(told), exact, exact * DurationHistogram::kRelativeError) << what << " " << share;
  }
}

TEST(Aggregate, AddsUpWhatABruteForceSumDoes) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    RandomEvents events(seed);
    Aggregate aggregate({}, 4096);
    std::map<Key, Sums> expected;
    for (int i = 0; i < 20'000; ++i) {
      const FunctionEvent event = events.Next();
      aggregate.Add(event);
      Add(event, &expected[KeyOf(event)]);
    }
    const std::vector<Row> rows = aggregate.Rows();
    ASSERT_EQ(rows.size(), expected.size());
    EXPECT_EQ(aggregate.events(), 20'000u);
    EXPECT_EQ(aggregate.keys(), expected.size());
    std::set<Key> seen;
    for (const Row& row : rows) {
      const FunctionEventAvg& average = row.average;
      const Key key{average.key, average.device_type, average.is_legacy, average.is_user_annotation};
      ASSERT_TRUE(seen.insert(key).second) << average.key;
      ASSERT_EQ(expected.count(key), 1u) << average.key;
      ExpectSame(row, expected[key], average.key);
    }
  }
}

TEST(Aggregate, KeysBeyondTheBoundShareOneRowAndNothingIsMissing) {
  constexpr size_t kMaxKeys = 7;
  RandomEvents events(11);
  Aggregate aggregate({}, kMaxKeys);
  std::map<Key, Sums> expected;
  std::set<Key> first;
  Sums other;
  for (int i = 0; i < 20'000; ++i) {
    const FunctionEvent event = events.Next();
    aggregate.Add(event);
    if (first.size() < kMaxKeys) first.insert(KeyOf(event));
    Add(event, first.count(KeyOf(event)) == 1 ? &expected[KeyOf(event)] : &other);
  }
  const std::vector<Row> rows = aggregate.Rows();
  ASSERT_EQ(rows.size(), kMaxKeys + 1);
  EXPECT_EQ(aggregate.keys(), kMaxKeys);
  EXPECT_EQ(aggregate.events(), 20'000u);
  EXPECT_EQ(aggregate.other_events(), static_cast<uint64_t>(other.count));
  EXPECT_EQ(rows.back().average.key, Aggregate::kOtherKey);
  ExpectSame(rows.back(), other, "other");
  for (size_t i = 0; i < kMaxKeys; ++i) {
    const FunctionEventAvg& average = rows[i].average;
    ExpectSame(rows[i], expected[{average.key, average.device_type, average.is_legacy, average.is_user_annotation}],
               average.key);
  }
}

TEST(Aggregate, ThreadsAndTheirLateIdsMakeNoDifference) {
  Aggregate one({}, 100), other({}, 100);
  RandomEvents events(5);
  for (int i = 0; i < 1000; ++i) {
    FunctionEvent event = events.Next();
    one.Add(event);
    event.thread += 1000;
    other.Add(event);
  }
  const std::vector<Row> a = one.Rows(), b = other.Rows();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].average.key, b[i].average.key);
    EXPECT_EQ(a[i].average.count, b[i].average.count);
    EXPECT_EQ(a[i].average.cpu_time_total_ns, b[i].average.cpu_time_total_ns);
    EXPECT_EQ(a[i].p99_ns, b[i].p99_ns);
  }
}

TEST(Aggregate, GroupsAsAnEventListDoes) {
  EventList list;
  for (int i = 0; i < 64; ++i) {
    FunctionEventFields fields = Op(i % 3 == 0 ? "mm" : "add", 10 * i, 10 * i + 1 + i % 7);
    fields.input_shapes = {{i & 1}};
    fields.input_dtypes = {"float"};
    fields.overload_name = (i & 2) != 0 ? "out" : "Tensor";
    fields.stack = {(i & 4) != 0 ? "a" : "b"};
    AddTo(list, fields);
  }
  list.Build();
  for (int grouping = 0; grouping < 8; ++grouping) {
    AverageOptions options;
    options.group_by_input_shapes = (grouping & 1) != 0;
    options.group_by_overload_name = (grouping & 2) != 0;
    options.group_by_stack_n = (grouping & 4) != 0 ? 1 : 0;
    Aggregate aggregate(options, 100);
    for (const FunctionEvent& event : list) aggregate.Add(event);
    const EventAverages expected = list.key_averages(options);
    const std::vector<Row> rows = aggregate.Rows();
    ASSERT_EQ(rows.size(), expected.size()) << grouping;
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].average.key, expected[i].key);
      EXPECT_EQ(rows[i].average.input_shapes, expected[i].input_shapes);
      EXPECT_EQ(rows[i].average.overload_name, expected[i].overload_name);
      EXPECT_EQ(rows[i].average.stack, expected[i].stack);
      EXPECT_EQ(rows[i].average.count, expected[i].count);
      EXPECT_EQ(rows[i].average.cpu_time_total_ns, expected[i].cpu_time_total_ns);
      EXPECT_EQ(rows[i].average.self_cpu_percent, expected[i].self_cpu_percent);
    }
  }
}

TEST(Aggregate, SharesOfTheSelfTimesAddUpToAHundred) {
  Aggregate aggregate({}, 3);
  RandomEvents events(6);
  for (int i = 0; i < 1000; ++i) aggregate.Add(events.Next());
  double percent = 0;
  for (const Row& row : aggregate.Rows()) percent += row.average.self_cpu_percent;
  EXPECT_NEAR(percent, 100, 1e-6);
}

DeviceTimeShare ShareOf(std::string_view name, uint32_t name_id, int64_t self_ns, int64_t total_ns) {
  DeviceTimeShare share;
  share.name = name;
  share.name_id = name_id;
  share.self_ns = self_ns;
  share.total_ns = total_ns;
  return share;
}

TEST(Aggregate, DeviceTimeGoesToTheRowOfItsKeyWhetherItsEventsCameBeforeOrComeLater) {
  Aggregate aggregate({}, 10);
  FunctionEvent event;
  event.name = "before";
  event.name_id = 1;
  event.end_ns = event.self_ns = 100;
  aggregate.Add(event);
  aggregate.Add(event);
  aggregate.AddDeviceTime(ShareOf("before", 1, 30, 50));
  aggregate.AddDeviceTime(ShareOf("later", 2, 7, 9));
  event.name = "later";
  event.name_id = 2;
  event.scope = RecordScope::kUserScope;
  aggregate.Add(event);
  aggregate.AddDeviceTime(ShareOf("later", 2, -2, 1));
  const std::vector<Row> rows = aggregate.Rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].average.count, 2);
  EXPECT_EQ(rows[0].average.cpu_time_total_ns, 200);
  EXPECT_EQ(rows[0].average.device_time_total_ns, 50);
  EXPECT_EQ(rows[0].average.self_device_time_total_ns, 30);
  EXPECT_EQ(rows[1].average.count, 1);
  EXPECT_EQ(rows[1].average.scope, RecordScope::kUserScope) << "the event says more than the share";
  EXPECT_EQ(rows[1].average.device_time_total_ns, 10);
  EXPECT_EQ(rows[1].average.self_device_time_total_ns, 5);
  for (const Row& row : rows) EXPECT_EQ(row.average.use_device, DeviceType::kCuda);
}

TEST(Aggregate, ARowWhoseEventsNeverCameHasItsDeviceTimeAndACountOfZero) {
  Aggregate aggregate({}, 10);
  aggregate.AddDeviceTime(ShareOf("dropped", 1, 30, 50));
  const std::vector<Row> rows = aggregate.Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(aggregate.events(), 0u);
  EXPECT_EQ(rows[0].average.count, 0);
  EXPECT_EQ(rows[0].average.device_time_total_ns, 50);
  EXPECT_EQ(rows[0].average.device_time(), 0);
  EXPECT_EQ(rows[0].average.cpu_time(), 0);
  EXPECT_EQ(rows[0].p99_ns, 0);
  // Nothing is lost where rows are added up.
  FunctionEventAvg sum = rows[0].average;
  FunctionEvent event;
  event.end_ns = 5;
  FunctionEventAvg other;
  other.Add(event);
  sum.Add(other);
  EXPECT_EQ(sum.count, 1);
  EXPECT_EQ(sum.device_time_total_ns, 50);
  EXPECT_EQ(sum.cpu_time_total_ns, 5);
}

TEST(Aggregate, DeviceTimeWithoutARowIsWithTheOtherKeys) {
  Aggregate aggregate({}, 1);
  FunctionEvent event;
  event.name = "first";
  event.name_id = 1;
  aggregate.Add(event);
  aggregate.AddDeviceTime(ShareOf("second", 2, 30, 50));
  const std::vector<Row> rows = aggregate.Rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].average.key, Aggregate::kOtherKey);
  EXPECT_EQ(rows[1].average.count, 0);
  EXPECT_EQ(rows[1].average.device_time_total_ns, 50);
}

TEST(Aggregate, AnEmptyOneHasNoRows) {
  const Aggregate aggregate({}, 3);
  EXPECT_EQ(aggregate.Rows().size(), 0u);
  EXPECT_EQ(aggregate.events(), 0u);
}

}  // namespace
}  // namespace ferret::table
