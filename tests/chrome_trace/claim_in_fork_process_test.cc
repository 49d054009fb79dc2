// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A child that has claimed a file before the last of its fork handlers has run.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "runtime/export/file/file_claim.h"
#include "tests/chrome_trace/trace_files.h"

namespace ferret {
namespace {

std::string* g_path = nullptr;
std::unique_ptr<FileClaim> g_claim;

void ClaimInChild() {
  if (g_path != nullptr) g_claim = *FileClaim::Take(*g_path, nullptr);
}

// Handlers run in the order in which they were registered: before the library's, which does that when it is loaded.
[[gnu::constructor(101)]] void RegisterFirst() { pthread_atfork(nullptr, nullptr, &ClaimInChild); }

TEST(FileClaim, OfAForkHandlerInTheChildStaysTheChilds) {
  TempDir folder;
  std::string path = folder / "child.json";
  g_path = &path;
  const std::unique_ptr<FileClaim> parents = *FileClaim::Take(folder / "parent.json", nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const bool own_is_open = fcntl(g_claim->fd(), F_GETFD) >= 0;
    const bool parents_is_closed = fcntl(parents->fd(), F_GETFD) < 0;
    _exit(own_is_open && parents_is_closed ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace ferret
