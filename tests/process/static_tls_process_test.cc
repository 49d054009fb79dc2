// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are loaded into a process which has used up the room for static thread-local data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

using testing::HasSubstr;

class StaticTls : public testing::Test {
 protected:
  Outcome Load(const std::string& library, bool with_hogs) {
    const TemporaryFolder folder;  // for copies of the hogs
    std::vector<std::string> arguments = {DataFile("tests/process/tls_program"), folder.path(), DataFile(library)};
    if (with_hogs) {
      arguments.push_back(DataFile("tests/process/libtls_hog_64.so"));
      arguments.push_back(DataFile("tests/process/libtls_hog_8.so"));
    }
    return RunProgram(arguments);
  }
};

TEST_F(StaticTls, UsedUpTheLoaderRefusesTheLibraryAndSaysWhy) {
  for (const char* library : {"libferret.so", "tests/process/libtls_initial_exec.so"}) {
    EXPECT_THAT(Load(library, false).out, HasSubstr("loaded\n"));
    const Outcome outcome = Load(library, true);
    EXPECT_EQ(outcome.exit_status, 1);
    EXPECT_THAT(outcome.out, HasSubstr("cannot allocate memory in static TLS block"));
  }
}

TEST_F(StaticTls, UsedUpTheLibraryThatNeedsNoneRecords) {
  EXPECT_EQ(Load("tests/process/libtls_global_dynamic.so", true).out, "loaded\nrecorded on 3\n");
}

TEST_F(StaticTls, ThatIsLeftIsEnoughForBoth) {
  for (const char* library : {"libtls_global_dynamic.so", "libtls_initial_exec.so"}) {
    EXPECT_EQ(Load(std::string("tests/process/") + library, false).out, "loaded\nrecorded on 3\n");
  }
}

}  // namespace
}  // namespace ferret
