// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Details as they were written come back; details that nobody wrote do no harm.

#include "runtime/events/detail_reader.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ferret/scope_details.h"
#include "runtime/events/detail_text.h"
#include "runtime/events/flops.h"
#include "tests/events/event_maker.h"

namespace ferret {
namespace {

using internal::DetailKind;

std::string InputsOf(const std::vector<Value>& values) {
  std::string recorded;
  AppendDetail(DetailKind::kInputs, &recorded, [&values](internal::DetailWriter* out) {
    for (const Value& value : values) WriteValue(value, out);
  });
  return recorded;
}

// Everything that an event reads from its details.
size_t ReadAll(std::string_view recorded) {
  EventDetails details;
  details.recorded = recorded;
  FunctionEvent event;
  event.name = "aten::conv2d";
  event.details = &details;
  return event.inputs().size() + event.structured_input_shapes().size() + event.structured_input_strides().size() +
         event.input_dtypes().size() + event.concrete_inputs().size() + event.kwinputs().size() +
         event.overload_name().size() + event.stack().size() + event.module_hierarchy().size() +
         event.extra_meta().size() + event.metadata().size() + event.ToString().size() +
         static_cast<size_t>(event.node_id() != -1) + static_cast<size_t>(event.is_remote()) +
         static_cast<size_t>(EstimateFlops(event.name, recorded) != 0);
}

TEST(DetailReader, EveryValueComesBack) {
  const std::vector<Value> values = {
      std::monostate(),
      true,
      false,
      int64_t{0},
      int64_t{-1},
      std::numeric_limits<int64_t>::min(),
      std::numeric_limits<int64_t>::max(),
      -0.125,
      std::numeric_limits<double>::infinity(),
      std::string("zero\0inside", 11),
      std::string(),
      std::vector<int64_t>{1, -2, 300},
      std::vector<int64_t>{},
      std::vector<double>{0.5},
      std::vector<bool>{true, false, true},
      std::vector<std::string>{"", "b"},
      Tensor{"float", {2, 3}, {3, 1}},
      Tensor{"c10::BFloat16", {}, {}},
      std::vector<Tensor>{{"", {1}, {}}, {"long int", {4, 5}, {5, 1}}},
  };
  EXPECT_EQ(ReadInputs(InputsOf(values)), values);
}

TEST(DetailReader, WhatAProgramAttachesIsWhatTheEventSays) {
  ScopeDetails attached;
  attached.Tensor("float", {64, 32}, {32, 1}).Scalar(3).Scalar(0.5).Scalar(true).Scalar("mean").ScalarList({1, 2});
  attached.None();
  attached.Keyword("alpha", 2).Overload("out").Frame("inner").Frame("outer").Module("Net").Flops(77).Node(4, true);
  EventList list({0, DeviceType::kCpu, false, true});
  EventDetails details;
  details.recorded = attached.bytes();
  FunctionEvent event;
  event.name = "op";
  event.details = &details;
  const FunctionEvent& kept = list.Add(event);
  EXPECT_EQ(kept.inputs(), (std::vector<Value>{Tensor{"float", {64, 32}, {32, 1}}, int64_t{3}, 0.5, true,
                                               std::string("mean"), std::vector<int64_t>{1, 2}, std::monostate()}));
  EXPECT_EQ(kept.input_dtypes(),
            (std::vector<std::string>{"float", "Scalar", "Scalar", "Scalar", "", "ScalarList", ""}));
  EXPECT_EQ(kept.kwinputs(), (std::map<std::string, Value>{{"alpha", int64_t{2}}}));
  EXPECT_EQ(kept.overload_name(), "out");
  EXPECT_EQ(kept.stack(), (std::vector<std::string>{"inner", "outer"}));
  EXPECT_EQ(kept.module_hierarchy(), "Net");
  EXPECT_EQ(kept.flops(), 77);
  EXPECT_EQ(kept.node_id(), 4);
  EXPECT_TRUE(kept.is_remote());
}

TEST(DetailReader, OfTwoItemsOfAKindTheLaterCounts) {
  std::string recorded;
  AppendStack({"first"}, &recorded);
  AppendStack({"second"}, &recorded);
  std::string_view payload;
  ASSERT_TRUE(FindDetail(recorded, DetailKind::kStack, &payload));
  std::string_view frame;
  ASSERT_TRUE(DetailReader(payload).ReadText(&frame));
  EXPECT_EQ(frame, "second");
}

TEST(DetailReader, AnItemMayBeLargerThanARecord) {
  const std::vector<Value> values = {std::string(200000, 'x'), std::vector<int64_t>(50000, -1)};
  EXPECT_EQ(ReadInputs(InputsOf(values)), values);
}

TEST(DetailReader, CountsBeyondTheBytesThatAreThereAreRefused) {
  for (const internal::ValueTag tag :
       {internal::ValueTag::kIntList, internal::ValueTag::kDoubleList, internal::ValueTag::kBoolList,
        internal::ValueTag::kStringList, internal::ValueTag::kTensorList, internal::ValueTag::kString}) {
    std::string payload(1, static_cast<char>(tag));
    payload += "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";  // nine varint bytes: 2^63 - 1
    DetailReader reader(payload);
    Value value;
    EXPECT_FALSE(reader.ReadValue(&value)) << static_cast<int>(tag);
    EXPECT_TRUE(reader.failed());
    uint8_t byte = 0;
    EXPECT_FALSE(reader.ReadByte(&byte));
  }
  DetailReader dimensions(std::string_view("\x09\x00\xff\xff\xff\x7f\x00", 7));
  Value value;
  EXPECT_FALSE(dimensions.ReadValue(&value));
}

TEST(DetailReader, AVarintOfMoreThan64BitsIsRefused) {
  uint64_t value = 0;
  EXPECT_TRUE(DetailReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").ReadVarint(&value));
  EXPECT_EQ(value, UINT64_MAX);
  EXPECT_FALSE(DetailReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02").ReadVarint(&value));
  EXPECT_FALSE(DetailReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").ReadVarint(&value));
  EXPECT_FALSE(DetailReader("\x80").ReadVarint(&value));
}

TEST(DetailReader, WhatStandsBeforeTheDamageIsRead) {
  std::string recorded = InputsOf({int64_t{1}, int64_t{2}});
  recorded.back() = static_cast<char>(0x80);  // the second number has no end
  EXPECT_EQ(ReadInputs(recorded), std::vector<Value>{int64_t{1}});
  AppendStack({"lost with the item before it"}, &recorded);
  recorded[1] = static_cast<char>(0xff);  // the first item claims to be longer than everything
  EXPECT_TRUE(ReadInputs(recorded).empty());
  std::string_view payload;
  EXPECT_FALSE(FindDetail(recorded, DetailKind::kStack, &payload));
}

TEST(DetailReader, NoBytesAtAllDoHarm) {
  std::string whole = InputsOf({Tensor{"float", {2, 3}, {3, 1}}, std::vector<Tensor>{{"", {1}, {}}}, int64_t{-5}, 0.5,
                                std::vector<int64_t>{1, 2}, std::vector<std::string>{"a", "b"}});
  ScopeDetails attached;
  attached.Keyword("k", 1).Overload("o").Frame("f").Module("m").Node(1, true);
  whole += attached.bytes();
  const size_t read = ReadAll(whole);
  // Cut off anywhere.
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_LE(ReadAll(whole.substr(0, size)), read);
  // Changed anywhere: no more can come out than the bytes can say.
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 1 + round % 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    EXPECT_LT(ReadAll(damaged), 100 * damaged.size());
  }
  for (int round = 0; round < 5000; ++round) {
    std::string noise(random() % 64, '\0');
    for (char& byte : noise) byte = static_cast<char>(random() % 16 == 0 ? random() : random() % 12);
    EXPECT_LT(ReadAll(noise), 10000u);
  }
}

}  // namespace
}  // namespace ferret
