// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whatever is in a batch, also bytes that no program recorded: what is written can be decoded, and is the same in both
// forms.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/otlp/decoded.h"
#include "tests/otlp/random_run.h"

namespace ferret::otlp {
namespace {

constexpr int kRounds = 300;

TEST(EncoderFuzz, WhatIsEncodedDecodesTheSameInBothForms) {
  std::mt19937_64 random(20261130);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t seed = random();
    SCOPED_TRACE(seed);
    RandomRun run(seed);
    const std::vector<std::unique_ptr<EventBatch>> batches = run.Batches(1, 40);
    EventBatch& batch = *batches[0];
    // Fields that no drain would fill so, and details with wrong lengths, tags and ends.
    for (FunctionEvent& event : batch.events) {
      if (random() % 4 == 0) event.parent_id = static_cast<int64_t>(random());
      if (random() % 4 == 0) event.forward_id = static_cast<int64_t>(random());
      if (random() % 4 == 0) event.start_ns = static_cast<int64_t>(random());
      if (random() % 4 == 0) event.end_ns = static_cast<int64_t>(random());
      if (random() % 4 == 0) event.scope = static_cast<RecordScope>(random() % 256);
      if (random() % 4 == 0) event.device_type = static_cast<DeviceType>(random() % 128);
      if (random() % 4 == 0) event.device_resource_id = static_cast<int32_t>(random());
    }
    for (EventDetails& details : batch.details) {
      std::string bytes(details.recorded);
      for (uint64_t i = random() % 8; i > 0 && !bytes.empty(); --i) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      if (random() % 4 == 0) bytes.resize(bytes.size() / 2);
      details.recorded = batch.texts.Keep(bytes);
    }
    Encoding<SpanEncoder> proto;
    Encoding<JsonEncoder> json;
    proto.AddBatch(batch);
    json.AddBatch(batch);
    const Request request = Decode(proto.Take());
    ASSERT_EQ(Difference(request, DecodeJson(json.Take())), "");
    for (const DecodedSpan& span : SpansOf(request)) {
      EXPECT_LE(span.start_time_unix_nano(), span.end_time_unix_nano());
      EXPECT_FALSE(span.name().empty());
      AttributesOf(span.attributes());  // no key twice
    }
  }
}

}  // namespace
}  // namespace ferret::otlp
