// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/rescue.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/tools/program.h"

namespace ferret {
namespace {

using ::testing::HasSubstr;
using State = Rescue::Outcome;

constexpr char kRun[] = "68-this-run";

class RescueOfAFile : public ::testing::Test {
 protected:
  Rescue Rescued() { return RescueFile({17, folder_ / "t.json.tmp", folder_ / "t.json"}, kRun); }
  static std::string Document(const std::string& run, const std::string& text) {
    return "{\"ferret_run_id\": \"" + run + "\", \"ferret_pid\": 5, \"text\": \"" + text + "\"}";
  }

  TemporaryFolder folder_;
};

TEST_F(RescueOfAFile, GetsItsName) {
  WriteFile(folder_ / "t.json.tmp", "data");
  const Rescue rescue = Rescued();
  EXPECT_EQ(rescue.outcome, State::kRescued);
  EXPECT_EQ(rescue.path, folder_ / "t.json");
  EXPECT_EQ(ReadFile(folder_ / "t.json"), "data");
}

TEST_F(RescueOfAFile, ReplacesOneOfAnEarlierRun) {
  WriteFile(folder_ / "t.json.tmp", "new");
  WriteFile(folder_ / "t.json", Document("67-other-run", "old"));
  EXPECT_EQ(Rescued().path, folder_ / "t.json");
  EXPECT_EQ(ReadFile(folder_ / "t.json"), "new");
}

TEST_F(RescueOfAFile, StandsBesideOneOfTheSameRun) {
  WriteFile(folder_ / "t.json", Document(kRun, "finished"));
  WriteFile(folder_ / "t.json.tmp", "killed");
  EXPECT_EQ(Rescued().path, folder_ / "t-17.json");
  WriteFile(folder_ / "t.json.tmp", "killed too");
  EXPECT_EQ(Rescued().path, folder_ / "t-17-2.json");
  EXPECT_EQ(ReadFile(folder_ / "t.json"), Document(kRun, "finished"));
  EXPECT_EQ(ReadFile(folder_ / "t-17.json"), "killed");
}

TEST_F(RescueOfAFile, OfALivingProcessIsLeftAlone) {
  WriteFile(folder_ / "t.json.tmp", "data");
  const int writer = open((folder_ / "t.json.tmp").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  EXPECT_EQ(Rescued().outcome, State::kStillWritten);
  close(writer);
  EXPECT_EQ(Rescued().outcome, State::kRescued);
}

TEST_F(RescueOfAFile, ThatWasFinishedIsNothingToDo) { EXPECT_EQ(Rescued().outcome, State::kNothingToDo); }

TEST_F(RescueOfAFile, WithoutContentLeavesNoFile) {
  WriteFile(folder_ / "t.json.tmp", "");
  EXPECT_EQ(Rescued().outcome, State::kNothingToDo);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(RescueOfAFile, ThatCannotBeRenamedStaysWithAReason) {
  WriteFile(folder_ / "t.json.tmp", "data");
  std::filesystem::create_directory(folder_ / "t.json");
  const Rescue rescue = Rescued();
  EXPECT_EQ(rescue.outcome, State::kFailed);
  EXPECT_THAT(rescue.error, HasSubstr("t.json.tmp"));
  EXPECT_EQ(ReadFile(folder_ / "t.json.tmp"), "data");
}

TEST(IsProcessAlive, ZombiesAreNot) {
  EXPECT_TRUE(IsProcessAlive(getpid()));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(IsProcessAlive(child)) << "not yet waited for";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(IsProcessAlive(child));
}

}  // namespace
}  // namespace ferret
