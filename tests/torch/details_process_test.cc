// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What libferret_torch.so records beyond times in a C++ program that links libtorch and has no Python.

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ferret/session.h"
#include "tests/torch/malloc_counter.h"

namespace ferret {
namespace {

std::string TracePath() { return std::string(std::getenv("TEST_TMPDIR")) + "/trace.json"; }

// Records what the function does in a session with the variable set. Returns the trace, and what went to stderr.
template <typename Function>
std::string Record(const char* variable, Function function, std::string* said = nullptr) {
  setenv(variable, "1", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Start("chrome_trace:" + TracePath()), "");
  function();
  EXPECT_EQ(Stop(), "");
  const std::string output = testing::internal::GetCapturedStderr();
  if (said != nullptr) *said = output;
  unsetenv(variable);
  std::stringstream text;
  text << std::ifstream(TracePath()).rdbuf();
  std::remove(TracePath().c_str());
  return text.str();
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

class Details : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NE(dlopen("adapters/torch/libferret_torch.so", RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  }
};

void Op(const std::vector<c10::IValue>& arguments) {
  RECORD_FUNCTION("op", (c10::ArrayRef<const c10::IValue>(arguments.data(), arguments.size())));
}

TEST_F(Details, OfOperatorsAreTheirArgumentsAndOverloads) {
  const std::string trace = Record("FERRET_RECORD_SHAPES", [] {
    Op({at::zeros({2, 3}), 2.5});
    at::zeros({4}).add(at::ones({4}));
  });
  EXPECT_TRUE(Has(trace, "\"Input Dims\": [[2, 3], []]"));
  EXPECT_TRUE(Has(trace, "\"Input type\": [\"float\", \"Scalar\"]"));
  EXPECT_TRUE(Has(trace, "\"Overload name\": \"Tensor\""));
}

TEST_F(Details, OverloadsAreNamedWholeAtAnyLength) {
  const std::string trace = Record("FERRET_RECORD_SHAPES", [] {
    const at::Tensor x = at::ones({4, 4});
    x.any(1);                        // dim
    x.sum(std::vector<int64_t>{1});  // dim_IntList
    at::div(x, x, "floor");          // Tensor_mode
    at::Tensor out = at::empty({4, 4});
    at::pow_out(out, x, 2);          // Tensor_Scalar_out
  });
  for (const char* overload : {"dim", "dim_IntList", "Tensor_mode", "Tensor_Scalar_out"}) {
    EXPECT_TRUE(Has(trace, ("\"Overload name\": \"" + std::string(overload) + "\"").c_str())) << overload;
  }
}

TEST_F(Details, AreNotAskedOfPyTorchUnlessTheSessionWantsThem) {
  const std::string trace = Record("FERRET_UNRELATED", [] { Op({at::zeros({2, 3})}); });
  EXPECT_TRUE(Has(trace, "\"op\""));
  EXPECT_FALSE(Has(trace, "Input Dims"));
}

TEST_F(Details, StacksWithoutPythonAreRefusedWithOneLineInAll) {
  std::string said;
  const std::string trace = Record("FERRET_WITH_STACK", [] { Op({}); }, &said);
  EXPECT_EQ(said, "ferret: call stacks are not recorded: this process has no Python\n");
  EXPECT_TRUE(Has(trace, "\"op\""));
  EXPECT_FALSE(Has(trace, "Call stack"));
  Record("FERRET_WITH_STACK", [] { Op({}); }, &said);
  EXPECT_EQ(said, "");
}

TEST_F(Details, AllocationsWithoutThePreloadAreRefusedWithOneLine) {
  std::string said;
  const std::string trace = Record("FERRET_PROFILE_MEMORY", [] { at::zeros({4}); }, &said);
  EXPECT_EQ(said,
            "ferret: PyTorch's allocations are not recorded: that needs libferret_preload.so to be preloaded, as "
            "`ferret run` does\n");
  EXPECT_FALSE(Has(trace, "[memory]"));
}

uint64_t MallocsOf1000(const std::vector<c10::IValue>& arguments) {
  for (int i = 0; i < 100; ++i) Op(arguments);
  const uint64_t before = MallocsOfThisThread();
  for (int i = 0; i < 1000; ++i) Op(arguments);
  return MallocsOfThisThread() - before;
}

TEST_F(Details, SteadyStateAllocatesNothing) {
  const std::vector<c10::IValue> arguments{at::zeros({2, 3}), std::vector<int64_t>{1, 2}, 2.5};
  // PyTorch's own share with any observer that needs inputs.
  const at::CallbackHandle observer = at::addGlobalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
        return nullptr;
      }).needsInputs(true));
  const uint64_t of_torch = MallocsOf1000(arguments);
  at::removeCallback(observer);
  uint64_t with_ferret = 0;
  Record("FERRET_RECORD_SHAPES", [&] { with_ferret = MallocsOf1000(arguments); });
  EXPECT_EQ(with_ferret, of_torch);
}

}  // namespace
}  // namespace ferret
