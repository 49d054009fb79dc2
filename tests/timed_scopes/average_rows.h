// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of averages by all that tells them apart, to be compared.

#ifndef FERRET_TESTS_TIMED_SCOPES_AVERAGE_ROWS_H_
#define FERRET_TESTS_TIMED_SCOPES_AVERAGE_ROWS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ferret/event_list.h"

namespace ferret {

// Name, device, whether legacy, whether an annotation; overload, shapes, stack.
using Key = std::tuple<std::string, DeviceType, bool, bool, std::string, std::vector<std::vector<int64_t>>,
                       std::vector<std::string>>;
// Count; CPU time, in total and its own; device time, in total and its own.
using Sums = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;
using Rows = std::map<Key, Sums>;

inline void AddRow(const FunctionEventAvg& row, Rows* rows) {
  const Key key(row.key, row.device_type, row.is_legacy, row.is_user_annotation, row.overload_name, row.input_shapes,
                row.stack);
  const Sums sums(row.count, row.cpu_time_total_ns, row.self_cpu_time_total_ns, row.device_time_total_ns,
                  row.self_device_time_total_ns);
  EXPECT_TRUE(rows->emplace(key, sums).second) << row.key << " has two rows";
}

inline Rows RowsOf(const EventAverages& averages) {
  Rows rows;
  for (const FunctionEventAvg& row : averages) AddRow(row, &rows);
  return rows;
}

inline void ExpectSame(const Rows& found, const Rows& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (const auto& [key, sums] : expected) {
    const auto row = found.find(key);
    ASSERT_NE(row, found.end()) << what << ": " << std::get<0>(key);
    EXPECT_EQ(row->second, sums) << what << ": " << std::get<0>(key) << " legacy " << std::get<2>(key);
  }
}

}  // namespace ferret

#endif  // FERRET_TESTS_TIMED_SCOPES_AVERAGE_ROWS_H_
