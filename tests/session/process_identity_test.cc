// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/process_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

namespace ferret {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ProcessIdentity Identify(const std::map<std::string, std::string>& variables) {
  return IdentifyProcess([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string Ranks(const ProcessIdentity& identity) {
  return std::to_string(identity.rank) + " of " + std::to_string(identity.world_size) + ", local " +
         std::to_string(identity.local_rank);
}

TEST(ProcessIdentity, WithoutALauncherThereIsNoRank) {
  const ProcessIdentity identity = Identify({});
  EXPECT_FALSE(identity.has_rank);
  EXPECT_EQ(Ranks(identity), "0 of 1, local -1");
  EXPECT_EQ(identity.job_id, "");
  EXPECT_THAT(identity.ignored, IsEmpty());
  EXPECT_EQ(identity.pid, getpid());
  EXPECT_NE(identity.host_name, "");
  // The kernel keeps 15 characters.
  EXPECT_EQ(identity.process_name, std::string("process_identity_test").substr(0, 15));
}

TEST(ProcessIdentity, EachLauncherIsUnderstood) {
  EXPECT_EQ(Ranks(Identify({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}})), "5 of 8, local 1");
  EXPECT_EQ(Ranks(Identify({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}})), "5 of 8, local 1");
  EXPECT_EQ(Ranks(Identify({{"OMPI_COMM_WORLD_RANK", "5"},
                            {"OMPI_COMM_WORLD_SIZE", "8"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}})),
            "5 of 8, local 1");
}

TEST(ProcessIdentity, TorchrunUnderSlurmCountsAsTorchrun) {
  const ProcessIdentity identity = Identify({{"SLURM_PROCID", "1"},
                                             {"SLURM_NTASKS", "2"},
                                             {"SLURM_LOCALID", "0"},
                                             {"SLURM_JOB_ID", "4711"},
                                             {"RANK", "9"},
                                             {"WORLD_SIZE", "16"},
                                             {"TORCHELASTIC_RUN_ID", "none"}});
  EXPECT_EQ(Ranks(identity), "9 of 16, local -1") << "nothing of Slurm's is mixed in";
  EXPECT_EQ(identity.job_id, "4711");
}

TEST(ProcessIdentity, TheRestartCountIsTheLaunchersThatGaveTheRank) {
  EXPECT_EQ(Identify({}).restart_count, -1);
  EXPECT_EQ(Identify({{"RANK", "1"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}).restart_count, 2);
  EXPECT_EQ(Identify({{"SLURM_PROCID", "1"}, {"SLURM_RESTART_COUNT", "3"}}).restart_count, 3);
  EXPECT_EQ(Identify({{"RANK", "1"}, {"SLURM_PROCID", "1"}, {"SLURM_RESTART_COUNT", "3"}}).restart_count, -1);
  EXPECT_EQ(Identify({{"OMPI_COMM_WORLD_RANK", "1"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}).restart_count, -1);
  const ProcessIdentity bad = Identify({{"RANK", "1"}, {"TORCHELASTIC_RESTART_COUNT", "-1"}});
  EXPECT_EQ(bad.restart_count, -1);
  EXPECT_THAT(bad.ignored, ElementsAre(HasSubstr("TORCHELASTIC_RESTART_COUNT=")));
}

TEST(ProcessIdentity, JobComesFromSlurmThenFromTorchrun) {
  EXPECT_EQ(Identify({{"TORCHELASTIC_RUN_ID", "my-job"}}).job_id, "my-job");
  EXPECT_EQ(Identify({{"TORCHELASTIC_RUN_ID", "none"}}).job_id, "");
  EXPECT_EQ(Identify({{"TORCHELASTIC_RUN_ID", "my-job"}, {"SLURM_JOB_ID", "4711"}}).job_id, "4711");
}

TEST(ProcessIdentity, GarbageIsIgnoredWithAReasonAndTheNextLauncherAsked) {
  for (const char* garbage : {"x", "-1", "1.5", " 1", "1 ", "+1", "99999999999", "2147483647", "0x1", "\n"}) {
    const ProcessIdentity identity = Identify({{"RANK", garbage}, {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}});
    EXPECT_EQ(Ranks(identity), "2 of 3, local -1") << garbage;
    EXPECT_THAT(identity.ignored, ElementsAre(HasSubstr("RANK="))) << garbage;
  }
}

TEST(ProcessIdentity, EmptyIsTheSameAsUnset) {
  const ProcessIdentity identity = Identify({{"RANK", ""}, {"WORLD_SIZE", ""}, {"SLURM_JOB_ID", ""}});
  EXPECT_FALSE(identity.has_rank);
  EXPECT_THAT(identity.ignored, IsEmpty());
}

TEST(ProcessIdentity, AWorldThatCannotHoldTheRankIsIgnored) {
  EXPECT_EQ(Ranks(Identify({{"RANK", "3"}})), "3 of 4, local -1");
  for (const char* size : {"3", "0", "many"}) {
    const ProcessIdentity identity = Identify({{"RANK", "3"}, {"WORLD_SIZE", size}});
    EXPECT_EQ(Ranks(identity), "3 of 4, local -1");
    EXPECT_THAT(identity.ignored, ElementsAre(HasSubstr("WORLD_SIZE=")));
  }
}

TEST(ProcessIdentity, JobThatCannotBeShownIsIgnored) {
  for (const std::string& job : {std::string("a\nb"), std::string(129, 'x'), std::string("\xff")}) {
    const ProcessIdentity identity = Identify({{"SLURM_JOB_ID", job}, {"TORCHELASTIC_RUN_ID", "fallback"}});
    EXPECT_EQ(identity.job_id, "fallback");
    EXPECT_THAT(identity.ignored, ElementsAre(HasSubstr("SLURM_JOB_ID=")));
  }
}

TEST(ProcessIdentity, FillsTheSessionInfo) {
  SessionInfo info;
  Identify({{"RANK", "5"},
            {"WORLD_SIZE", "8"},
            {"LOCAL_RANK", "1"},
            {"TORCHELASTIC_RESTART_COUNT", "2"},
            {"SLURM_JOB_ID", "4711"}})
      .CopyTo(&info);
  EXPECT_EQ(info.pid, getpid());
  EXPECT_TRUE(info.has_rank);
  EXPECT_EQ(info.rank, 5);
  EXPECT_EQ(info.world_size, 8);
  EXPECT_EQ(info.local_rank, 1);
  EXPECT_EQ(info.restart_count, 2);
  EXPECT_EQ(info.job_id, "4711");
  EXPECT_NE(info.process_name, "");
  EXPECT_NE(info.host_name, "");
}

}  // namespace
}  // namespace ferret
