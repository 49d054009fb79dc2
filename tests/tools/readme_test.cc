// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "runtime/session/variables.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

TEST(Readme, TableOfVariablesIsTheOneOfHelpMarkdown) {
  const std::string readme = ReadFile(DataFile("README.md"));
  ASSERT_FALSE(readme.empty());
  const std::string begin_mark = "<!-- variables -->\n";
  const size_t begin = readme.find(begin_mark);
  const size_t end = readme.find("<!-- /variables -->");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t table = begin + begin_mark.size();
  EXPECT_EQ(readme.substr(table, end - table), VariablesMarkdown()) << "put in what `ferret help --markdown` prints";
}

}  // namespace
}  // namespace ferret
