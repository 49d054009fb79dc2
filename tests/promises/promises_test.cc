// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The page of promises names a test for each, and no test that does not exist: BUILD has the list, where a label that
// names nothing is an error.
//
//     promises_test LABEL...

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/tools/program.h"

namespace ferret {
namespace {

std::set<std::string> g_labels;

std::set<std::string> LabelsIn(const std::string& text) {
  std::set<std::string> labels;
  for (size_t at = text.find("`//tests/"); at != text.npos; at = text.find("`//tests/", at)) {
    const size_t end = text.find('`', ++at);
    labels.insert(text.substr(at, end - at));
  }
  return labels;
}

TEST(Promises, AreHeldByTheTestsThatThePageNames) {
  EXPECT_EQ(LabelsIn(ReadFile(DataFile("PROMISES.md"))), g_labels);
}

TEST(Promises, HaveEachATest) {
  std::istringstream lines(ReadFile(DataFile("PROMISES.md")));
  int rows = 0;
  for (std::string line, before; std::getline(lines, line); before = line) {
    const bool is_row = line.rfind("| ", 0) == 0 && before.rfind("|", 0) == 0;
    if (!is_row) continue;
    ++rows;
    EXPECT_FALSE(LabelsIn(line).empty()) << line;
  }
  EXPECT_GT(rows, 30);
}

}  // namespace
}  // namespace ferret

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ferret::g_labels.insert(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}
