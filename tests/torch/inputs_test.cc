// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/inputs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
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
