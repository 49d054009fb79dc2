// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/inputs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ferret/scope_details.h"
#include "tests/torch/malloc_counter.h"

namespace ferret::torch_adapter {
namespace {

using Arguments = std::vector<c10::IValue>;
using Inputs = c10::ArrayRef<const c10::IValue>;

struct Written {
  std::string bytes;
  bool complete;
};

Written Write(const Arguments& arguments) {
  char buffer[internal::kMaxDetailBytes];
  internal::DetailWriter writer(buffer, sizeof(buffer));
  const bool complete = WriteInputs(Inputs(arguments.data(), arguments.size()), writer) && !writer.cut();
  return {std::string(writer.bytes()), complete};
}

std::string Bytes(ScopeDetails& details) { return std::string(details.bytes()); }

TEST(WriteInputs, OfTensorsAreTheirTypesSizesAndStrides) {
  const at::Tensor matrix = at::zeros({3, 2}).t();
  const at::Tensor number = at::scalar_tensor(5, at::kLong);
  EXPECT_EQ(Write({matrix, number}).bytes,
            Bytes(ScopeDetails().Tensor("float", {2, 3}, {1, 2}).Tensor("long int", {}, {})));
}

TEST(WriteInputs, TypesAreNamedAsPyTorchsProfilerNamesThem) {
  const std::pair<at::ScalarType, const char*> kTypes[] = {
      {at::kFloat, "float"},
      {at::kDouble, "double"},
      {at::kHalf, "c10::Half"},
      {at::kBFloat16, "c10::BFloat16"},
      {at::kFloat8_e4m3fn, "c10::Float8_e4m3fn"},
      {at::kComplexFloat, "c10::complex<float>"},
      {at::kLong, "long int"},
      {at::kInt, "int"},
      {at::kShort, "short int"},
      {at::kChar, "signed char"},
      {at::kByte, "unsigned char"},
      {at::kBool, "bool"},
  };
  for (const auto& [type, name] : kTypes) {
    EXPECT_EQ(Write({at::empty({4}, type)}).bytes, Bytes(ScopeDetails().Tensor(name, {4}, {1}))) << name;
  }
}

TEST(WriteInputs, OfNumbersAreTheirValues) {
  EXPECT_EQ(Write({int64_t{-7}, 2.5, true}).bytes, Bytes(ScopeDetails().Scalar(-7).Scalar(2.5).Scalar(true)));
}

TEST(WriteInputs, OfShortListsOfNumbersAreTheirValues) {
  const std::vector<int64_t> thirty(30, 9);
  EXPECT_EQ(Write({thirty, std::vector<int64_t>{}}).bytes,
            Bytes(ScopeDetails().ScalarList({thirty.data(), thirty.size()}).ScalarList({})));
  EXPECT_NE(Write({std::vector<double>{1.5, 2.5}}).bytes, Write({std::vector<double>{1.5, 3.5}}).bytes);
  EXPECT_NE(Write({c10::List<bool>({true, false})}).bytes, Write({c10::List<bool>({true, true})}).bytes);
}

TEST(WriteInputs, WithoutAValueKeepTheirPlace) {
  const std::vector<int64_t> long_list(31, 9);
  c10::List<std::optional<at::Tensor>> optional_tensors;
  optional_tensors.push_back(at::zeros({2}));
  const Arguments arguments{c10::IValue(),    at::Tensor(),          "a string",
                            long_list,        at::Device(at::kCPU),  c10::complex<double>(1, 2),
                            optional_tensors, std::vector<std::string>{"x"}};
  ScopeDetails expected;
  for (size_t i = 0; i < arguments.size(); ++i) expected.None();
  EXPECT_EQ(Write(arguments).bytes, Bytes(expected));
}

TEST(WriteInputs, OfTensorsWithoutPlainSizesAreWithoutAValue) {
  const at::Tensor nested = at::_nested_tensor_from_tensor_list({at::zeros({2, 3}), at::zeros({1, 3})});
  EXPECT_EQ(Write({nested, 1.0}).bytes, Bytes(ScopeDetails().None().Scalar(1.0)));
}

TEST(WriteInputs, OfSparseTensorsHaveNoStrides) {
  EXPECT_EQ(Write({at::eye(3).to_sparse()}).bytes, Bytes(ScopeDetails().Tensor("float", {3, 3})));
}

TEST(WriteInputs, OfListsOfTensorsAreThoseOfTheMembers) {
  const Written two = Write({std::vector<at::Tensor>{at::zeros({2}), at::Tensor()}});
  EXPECT_TRUE(two.complete);
  char buffer[64];
  internal::DetailWriter expected(buffer, sizeof(buffer));
  expected.BeginItem(internal::DetailKind::kInputs);
  expected.Tag(internal::ValueTag::kTensorList);
  expected.Varint(2);
  expected.Text("float");
  expected.Varint(1);
  expected.Signed(2);
  expected.Byte(1);
  expected.Signed(1);
  expected.Text("");
  expected.Varint(0);
  expected.Byte(0);
  expected.EndItem();
  EXPECT_EQ(two.bytes, expected.bytes());
}

TEST(WriteInputs, OfLongListsOfTensorsAreWholeAsLongAsThereIsRoom) {
  const std::vector<at::Tensor> forty(40, at::zeros({100, 100}));
  EXPECT_TRUE(Write({forty}).complete);
  EXPECT_GT(Write({forty}).bytes.size(), 40u * 12);

  const std::vector<at::Tensor> many(5000, at::zeros({100, 100}));
  const Written cut = Write({many, forty, 2.5});
  EXPECT_FALSE(cut.complete) << "counted as loss";
  const Written without = Write({std::vector<at::Tensor>{}, forty, 2.5});
  EXPECT_TRUE(without.complete);
  EXPECT_EQ(cut.bytes, without.bytes) << "the others are kept";
}

// Byte by byte: what is written must not depend on how.
std::string TensorByHand(std::string_view type, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  char buffer[internal::kMaxDetailBytes];
  internal::DetailWriter writer(buffer, sizeof(buffer));
  writer.BeginItem(internal::DetailKind::kInputs);
  writer.Tag(internal::ValueTag::kTensor);
  writer.Text(type);
  writer.Varint(sizes.size());
  for (const int64_t size : sizes) writer.Signed(size);
  writer.Byte(strides.empty() ? 0 : 1);
  for (const int64_t stride : strides) writer.Signed(stride);
  writer.EndItem();
  return std::string(writer.bytes());
}

TEST(WriteInputs, OfTensorsOfAnySizesAndStrides) {
  const at::Tensor number = at::zeros({1});
  const std::vector<std::vector<int64_t>> all_sizes{
      {}, {0}, {1}, {63}, {64}, {8191}, {8192}, {0, 5}, {3, 0, 2}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6},
      {1, 2, 1, 2, 1, 2, 1, 2}, {1, 2, 1, 2, 1, 2, 1, 2, 1}, {(int64_t{1} << 28) + 1}, {int64_t{1} << 40, 3},
      {(int64_t{1} << 62) - 1}, std::vector<int64_t>(30, 2)};
  for (const std::vector<int64_t>& sizes : all_sizes) {
    const std::vector<int64_t> none(sizes.size(), 0);
    EXPECT_EQ(Write({number.as_strided(sizes, none)}).bytes, TensorByHand("float", sizes, none)) << sizes;
  }
  const std::vector<int64_t> far{int64_t{1} << 61, 7, 1};
  EXPECT_EQ(Write({number.as_strided({1, 1, 1}, far)}).bytes, TensorByHand("float", {1, 1, 1}, far));
}

TEST(WriteInputs, OfTensorsOfEveryTypeAreNamedAsTheTypeIs) {
  for (int type = 0; type < static_cast<int>(at::ScalarType::Undefined); ++type) {
    const auto scalar = static_cast<at::ScalarType>(type);
    if (at::isQIntType(scalar)) continue;
    at::Tensor tensor;
    try {
      tensor = at::empty({2}, scalar);
    } catch (const c10::Error&) {  // a type that the CPU has no tensors of
      continue;
    }
    EXPECT_EQ(Write({tensor}).bytes, TensorByHand(tensor.dtype().name(), {2}, {1}));
  }
}

// Whatever is left, an item is whole or not there, and nothing is written past the end.
TEST(WriteInputs, OfAnyLengthStayWithinTheBuffer) {
  const Arguments arguments{at::zeros({3, 4}), int64_t{5}, true,          c10::IValue(),
                            2.5,               at::eye(2), int64_t{-300}, std::vector<int64_t>{1, 2}};
  const std::string whole = Write(arguments).bytes;
  for (size_t room = 0; room < whole.size() + 300; ++room) {
    std::vector<char> buffer(room + 8, '#');
    internal::DetailWriter writer(buffer.data(), room);
    const bool complete = WriteInputs(Inputs(arguments.data(), arguments.size()), writer);
    EXPECT_TRUE(complete);
    EXPECT_EQ(writer.cut(), room < whole.size()) << room;
    EXPECT_EQ(writer.bytes(), writer.cut() ? "" : whole) << room;
    EXPECT_EQ(std::string(buffer.end() - 8, buffer.end()), "########") << room;
  }
}

TEST(WriteInputs, OfNothingAreNothing) { EXPECT_EQ(Write({}).bytes, ""); }

TEST(WriteInputs, AreReadWithoutAReferenceOrAnAllocation) {
  const at::Tensor tensor = at::zeros({4, 4});
  const std::vector<at::Tensor> list{tensor, tensor};
  const Arguments arguments{tensor, list, std::vector<int64_t>{1, 2}, 2.5};
  const size_t references = tensor.use_count();
  const size_t weak_references = tensor.weak_use_count();
  const size_t storage_references = tensor.storage().use_count();

  char buffer[internal::kMaxDetailBytes];
  internal::DetailWriter writer(buffer, sizeof(buffer));
  const uint64_t before = MallocsOfThisThread();
  WriteInputs(Inputs(arguments.data(), arguments.size()), writer);
  EXPECT_EQ(MallocsOfThisThread(), before);
  EXPECT_EQ(tensor.use_count(), references);
  EXPECT_EQ(tensor.weak_use_count(), weak_references);
  EXPECT_EQ(tensor.storage().use_count(), storage_references);
}

}  // namespace
}  // namespace ferret::torch_adapter
