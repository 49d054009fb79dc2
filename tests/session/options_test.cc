// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace ferret {
namespace {

using ::testing::HasSubstr;

TEST(Options, DefaultsAreValidAndRecordNothing) {
  const Options options;
  EXPECT_TRUE(options.Validate().ok());
  EXPECT_EQ(options.exporters, "");
  EXPECT_EQ(options.buffer_bytes, 67108864u);
  EXPECT_EQ(options.buffer_cap_bytes, 268435456u);
  EXPECT_EQ(options.exporter_queue_bytes, 67108864u);
  EXPECT_EQ(options.link_table_entries, 1048576u);
  EXPECT_EQ(options.overflow, Options::Overflow::kDrop);
  EXPECT_EQ(options.block_limit, absl::Milliseconds(100));
  EXPECT_EQ(options.stop_deadline, absl::Seconds(2));
  EXPECT_EQ(options.clock, Options::Clock::kAuto);
  EXPECT_EQ(options.fork, Options::Fork::kOff);
  EXPECT_EQ(options.log, Options::Log::kWarning);
}

TEST(Options, EachLimitIsAllowedAndOneBeyondItIsNot) {
  struct Case {
    std::string option;
    std::function<void(Options*, bool beyond)> lowest;
    std::function<void(Options*, bool beyond)> highest;
  };
  const absl::Duration tick = absl::Nanoseconds(1);
  const Case cases[] = {
      {"buffer_bytes", [](Options* o, bool beyond) { o->buffer_bytes = (uint64_t{128} << 10) - beyond; },
       [](Options* o, bool beyond) { o->buffer_bytes = (uint64_t{16} << 30) + beyond; }},
      {"buffer_cap_bytes", [](Options* o, bool beyond) { o->buffer_cap_bytes = (uint64_t{128} << 10) - beyond; },
       [](Options* o, bool beyond) { o->buffer_cap_bytes = (uint64_t{16} << 30) + beyond; }},
      {"exporter_queue_bytes", [](Options* o, bool beyond) { o->exporter_queue_bytes = (uint64_t{1} << 20) - beyond; },
       [](Options* o, bool beyond) { o->exporter_queue_bytes = (uint64_t{16} << 30) + beyond; }},
      {"link_table_entries", [](Options* o, bool beyond) { o->link_table_entries = 1024 - beyond; },
       [](Options* o, bool beyond) { o->link_table_entries = (uint64_t{64} << 20) + beyond; }},
      {"block_limit",
       [=](Options* o, bool beyond) { o->block_limit = absl::Milliseconds(1) - (beyond ? tick : 0 * tick); },
       [=](Options* o, bool beyond) { o->block_limit = absl::Seconds(10) + (beyond ? tick : 0 * tick); }},
      {"stop_deadline",
       [=](Options* o, bool beyond) { o->stop_deadline = absl::Milliseconds(10) - (beyond ? tick : 0 * tick); },
       [=](Options* o, bool beyond) { o->stop_deadline = absl::Hours(1) + (beyond ? tick : 0 * tick); }},
  };
  for (const Case& c : cases) {
    for (const auto& set : {c.lowest, c.highest}) {
      Options options;
      set(&options, false);
      EXPECT_TRUE(options.Validate().ok()) << options.Validate();
      set(&options, true);
      const absl::Status status = options.Validate();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), HasSubstr(c.option));
    }
  }
}

TEST(Options, InfiniteTimesAreOutOfRange) {
  Options options;
  options.block_limit = absl::InfiniteDuration();
  EXPECT_FALSE(options.Validate().ok());
  options.block_limit = -absl::InfiniteDuration();
  EXPECT_FALSE(options.Validate().ok());
}

TEST(Options, GrowNeedsACapOfAtLeastTheBuffer) {
  Options options;
  options.buffer_bytes = uint64_t{1} << 30;
  EXPECT_TRUE(options.Validate().ok()) << "the cap means nothing to the other policies";
  options.overflow = Options::Overflow::kGrow;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("FERRET_BUFFER_CAP"));
  options.buffer_cap_bytes = options.buffer_bytes;
  EXPECT_TRUE(options.Validate().ok());
}

}  // namespace
}  // namespace ferret
