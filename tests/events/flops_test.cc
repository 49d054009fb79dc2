// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Floating-point operations from shapes.

#include "runtime/events/flops.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/events/detail_text.h"
#include "tests/events/event_maker.h"

namespace ferret {
namespace {

using List = std::vector<int64_t>;

Value T(List sizes) { return Tensor{"float", std::move(sizes), {}}; }
Value I(int64_t value) { return value; }

std::string Recorded(const std::vector<Value>& inputs) {
  std::string recorded;
  AppendDetail(internal::DetailKind::kInputs, &recorded, [&inputs](internal::DetailWriter* out) {
    for (const Value& input : inputs) WriteValue(input, out);
  });
  return recorded;
}

struct Case {
  const char* what;
  const char* op;
  std::vector<Value> inputs;
  int64_t flops;
};

std::vector<Value> Conv(Value input, Value weight, Value stride, Value padding, Value dilation, int64_t groups) {
  return {input, weight, std::monostate(), stride, padding, dilation, groups};
}

TEST(Flops, AreThoseOfTheOperatorsDefinition) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const Case cases[] = {
      {"2 M N K", "aten::mm", {T({20, 30}), T({30, 40})}, 2 * 20 * 30 * 40},
      {"the added matrix does not count", "aten::addmm", {T({40}), T({20, 30}), T({30, 40}), I(1)}, 2 * 20 * 30 * 40},
      {"2 B M N K", "aten::bmm", {T({5, 20, 30}), T({5, 30, 40})}, 2 * 5 * 20 * 30 * 40},
      {"the same", "aten::baddbmm", {T({5, 20, 40}), T({5, 20, 30}), T({5, 30, 40})}, 2 * 5 * 20 * 30 * 40},
      {"elements of the first", "aten::mul", {T({3, 4}), T({1})}, 12},
      {"elements of the first", "aten::add", {T({3, 4}), T({3, 4}), I(1)}, 12},
      {"a scalar tensor is one element", "aten::add", {T({}), T({})}, 1},
      {"an empty tensor", "aten::mm", {T({0, 30}), T({30, 40})}, 0},
      {"3x3 on 8x8, padded", "aten::conv2d",
       Conv(T({2, 3, 8, 8}), T({16, 3, 3, 3}), List{1, 1}, List{1, 1}, List{1, 1}, 1),
       int64_t{2} * 2 * 8 * 8 * 3 * 3 * 3 * 16},
      {"stride and dilation", "aten::conv2d",
       Conv(T({1, 4, 9, 11}), T({6, 4, 3, 3}), List{2, 3}, List{0, 0}, List{2, 1}, 1),
       int64_t{2} * 1 * ((9 - 2 * 2 - 1) / 2 + 1) * ((11 - 2 - 1) / 3 + 1) * 3 * 3 * 4 * 6},
      {"groups", "aten::conv2d", Conv(T({1, 4, 8, 8}), T({8, 2, 1, 1}), List{1, 1}, List{0, 0}, List{1, 1}, 2),
       int64_t{2} * 8 * 8 * 4 * 8 / 2},
      {"one number for both dimensions", "aten::conv2d",
       Conv(T({1, 4, 8, 8}), T({8, 4, 1, 1}), List{1}, I(0), List{1}, 1), int64_t{2} * 8 * 8 * 4 * 8},

      {"other operators", "aten::relu", {T({20, 30})}, 0},
      {"no inputs", "aten::mm", {}, 0},
      {"one input", "aten::mm", {T({20, 30})}, 0},
      {"not a tensor", "aten::mm", {I(20), T({30, 40})}, 0},
      {"not matrices", "aten::mm", {T({20}), T({30, 40})}, 0},
      {"shapes that do not go together", "aten::mm", {T({20, 31}), T({30, 40})}, 0},
      {"batches that do not go together", "aten::bmm", {T({4, 20, 30}), T({5, 30, 40})}, 0},
      {"a negative size", "aten::mul", {T({-3, 4})}, 0},
      {"beyond 63 bits", "aten::mm", {T({kHuge, kHuge}), T({kHuge, kHuge})}, 0},
      {"a stride of 0", "aten::conv2d",
       Conv(T({1, 4, 8, 8}), T({8, 4, 1, 1}), List{0, 0}, List{0, 0}, List{1, 1}, 1), 0},
      {"no groups", "aten::conv2d", Conv(T({1, 4, 8, 8}), T({8, 4, 1, 1}), List{1}, List{0}, List{1}, 0), 0},
      {"padding by name", "aten::conv2d",
       Conv(T({1, 4, 8, 8}), T({8, 4, 1, 1}), List{1}, std::string("same"), List{1}, 1), 0},
      {"a kernel larger than the image", "aten::conv2d",
       Conv(T({1, 4, 2, 2}), T({8, 4, 5, 5}), List{1}, List{0}, List{1}, 1), 0},
      {"extreme numbers", "aten::conv2d",
       Conv(T({INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}), T({INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}),
            List{INT64_MAX}, List{INT64_MIN}, List{INT64_MAX}, INT64_MAX), 0},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(EstimateFlops(one.op, Recorded(one.inputs)), one.flops) << one.op << ": " << one.what;
  }
}

TEST(Flops, OnlyOperatorsWithACountHaveOne) {
  for (const char* op :
       {"aten::conv2d", "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mul", "aten::add"}) {
    EXPECT_TRUE(HasFlops(op)) << op;
  }
  for (const char* op : {"aten::relu", "aten::mm.out", "mm", ""}) EXPECT_FALSE(HasFlops(op)) << op;
}

TEST(Flops, AListComputesThemOnlyIfItIsAskedTo) {
  FunctionEventFields fields = Op("aten::mm", 0, 1);
  fields.input_shapes = {{20, 30}, {30, 40}};
  EventList with({0, DeviceType::kCpu, false, true});
  EXPECT_EQ(AddTo(with, fields).flops(), 48000);
  fields.flops = 5;
  EXPECT_EQ(AddTo(with, fields).flops(), 5);
  fields.flops = 0;
  EventList without;
  EXPECT_EQ(AddTo(without, fields).flops(), 0);
}

}  // namespace
}  // namespace ferret
