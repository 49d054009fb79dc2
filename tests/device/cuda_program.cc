// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program with timed scopes, for tests of what becomes of them with each kind of driver, and at the end of the process.
//
//     cuda_program HOW [DRIVER]
//
// DRIVER: the fake driver, which the program loads and initialises as its own; without, it has none. Prints what its
// tests compare. Its own result, the exit status 7, is the same whatever happens to Ferret.

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "ferret/cuda.h"
#include "ferret/session.h"
#include "tests/device/fake_cuda/fake_cuda.h"

namespace {

using ferret::DeviceCounts;
using ferret::DeviceLoss;

constexpr int kResult = 7;

fake_cuda::FakeCuda* g_fake = nullptr;
// Of the fake driver's calls, when Ferret had said that there would be no more.
uint64_t g_calls_after_halt = 0;

fake_cuda::FakeCuda* Load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const entry = library == nullptr ? nullptr : dlsym(library, "ferret_fake_cuda");
  if (entry == nullptr) {
    fprintf(stderr, "%s: %s\n", path, dlerror());
    exit(90);
  }
  fake_cuda::FakeCuda* const fake = reinterpret_cast<fake_cuda::FakeCuda* (*)()>(entry)();
  fake->UseMonotonicClock();
  return fake;
}

// Until it holds, for as long as a slow machine may need. What never holds shows in what is printed.
template <typename Condition>
bool Await(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

void Print(const DeviceCounts& counts, uint64_t asked) {
  const bool exact = counts.asked == asked && counts.asked == counts.timed + counts.total_lost();
  printf("%s\n", exact ? "exact" : "not exact");
  printf("timed %s\n", counts.timed == 0 ? "none" : "some");
  for (size_t i = 0; i < ferret::kDeviceLossCount; ++i) {
    if (counts.lost[i] != 0) printf("%s\n", ferret::DeviceLossText(static_cast<DeviceLoss>(i)));
  }
}

// Scopes until it is known what becomes of them.
int Outcome(bool no_device) {
  // Without a driver it is never looked at.
  ferret::cuda::Stream stream = reinterpret_cast<ferret::cuda::Stream>(uintptr_t{0x1000});
  if (g_fake != nullptr) {
    if (no_device) g_fake->SetDeviceCount(0);
    g_fake->Initialize();
    if (!no_device) stream = static_cast<ferret::cuda::Stream>(g_fake->NewStream(g_fake->NewContext(0)));
  }
  if (const ferret::Error error = ferret::Start("memory"); !error.empty()) {
    fprintf(stderr, "%s\n", error.c_str());
    return 91;
  }
  uint64_t asked = 0;
  Await([&] {
    { FERRET_CUDA_SCOPE(stream, "scope"); }
    ++asked;
    return ferret::DeviceLosses()[DeviceLoss::kDisabled] != 0 || ferret::cuda::Prepare(stream);
  });
  Await([&] {
    { FERRET_CUDA_SCOPE(stream, "scope"); }
    ++asked;
    const DeviceCounts counts = ferret::DeviceLosses();
    return counts[DeviceLoss::kDisabled] != 0 || counts.total_lost() < asked;
  });
  printf("%s\n", ferret::CudaStatus().c_str());
  if (!ferret::Stop(60'000).empty()) return 92;
  Print(ferret::DeviceLosses(), asked);
  return kResult;
}

// The driver is there, and initialised only after scopes have asked for it.
int LateInitialization() {
  if (!ferret::Start("memory").empty()) return 91;
  uint64_t asked = 0;
  Await([&] {
    { FERRET_CUDA_SCOPE(ferret::cuda::LegacyStream(), "early"); }
    ++asked;
    return !ferret::CudaStatus().empty();
  });
  printf("%s\n", ferret::CudaStatus().c_str());
  g_fake->MakeCurrent(g_fake->NewContext(0));
  Await([&] { return ferret::cuda::Prepare(ferret::cuda::LegacyStream()); });
  { FERRET_CUDA_SCOPE(ferret::cuda::LegacyStream(), "late"); }
  ++asked;
  printf("%s\n", ferret::CudaStatus().c_str());
  if (!ferret::Stop(60'000).empty()) return 92;
  Print(ferret::DeviceLosses(), asked);
  return kResult;
}

int DeviceThread() {
  DIR* const tasks = opendir("/proc/self/task");
  int tid = 0;
  while (const dirent* entry = readdir(tasks)) {
    std::string name;
    std::ifstream(std::string("/proc/self/task/") + entry->d_name + "/comm") >> name;
    if (name == "ferret-device") tid = atoi(entry->d_name);
  }
  closedir(tasks);
  return tid;
}

// Registered after Ferret's handler that stops the session, and before the one that keeps its thread from the driver: it
// runs between the two.
void BetweenFerretsHandlers() {
  if (const int tid = DeviceThread()) g_fake->ForbidThread(tid);
  g_calls_after_halt = g_fake->Calls(nullptr);
}

// Registered before Ferret's: runs after them.
void AfterFerretsHandlers() {
  if (g_fake == nullptr || g_calls_after_halt == 0) return;
  printf("%llu calls after the halt\n", static_cast<unsigned long long>(g_fake->Calls(nullptr) - g_calls_after_halt));
  fflush(stdout);
}
__attribute__((constructor(101))) void RegisterEarly() { atexit(&AfterFerretsHandlers); }

// Ten that are known, three that are over, and five that the device will not have got to.
void RecordPairs() {
  void* const context = g_fake->NewContext(0);
  g_fake->MakeCurrent(context);
  const auto fast = static_cast<ferret::cuda::Stream>(g_fake->NewStream(context, 1));
  const auto slow = static_cast<ferret::cuda::Stream>(g_fake->NewStream(context, 1));
  if (!Await([&] { return ferret::cuda::Prepare(fast); })) exit(93);
  for (int i = 0; i < 10; ++i) {
    FERRET_CUDA_SCOPE(fast, "known");
    g_fake->Kernel(fast, 1'000);
  }
  if (!Await([] { return ferret::Flush(60'000).empty() && ferret::DeviceLosses().timed == 10; })) exit(94);
  for (int i = 0; i < 3; ++i) { FERRET_CUDA_SCOPE(fast, "over"); }
  g_fake->Kernel(slow, int64_t{1'000'000'000'000});
  for (int i = 0; i < 5; ++i) { FERRET_CUDA_SCOPE(slow, "pending"); }
}

// A child that is made inside of a timed scope, and leaves it. 0 if it called no driver.
int ForkInScope(bool exits) {
  void* const context = g_fake->NewContext(0);
  g_fake->MakeCurrent(context);
  const auto stream = static_cast<ferret::cuda::Stream>(g_fake->NewStream(context));
  if (!Await([&] { return ferret::cuda::Prepare(stream); })) return 93;
  { FERRET_CUDA_SCOPE(stream, "before"); }
  // From here on the device thread has nothing to ask: the child gets no lock of the driver that somebody holds.
  if (!Await([] { return ferret::Flush(60'000).empty() && ferret::DeviceLosses().timed == 1; })) return 94;
  pid_t child = -1;
  uint64_t calls = 0;
  {
    FERRET_CUDA_SCOPE(stream, "around");
    calls = g_fake->Calls(nullptr);
    child = fork();
    if (child == 0) {
      { FERRET_CUDA_SCOPE(stream, "in the child"); }
      ferret::cuda::Prepare(stream);
      std::thread([&] { FERRET_CUDA_SCOPE(stream, "in a thread of the child"); }).join();
    }
  }
  if (child == 0) {
    const int result = g_fake->Calls(nullptr) == calls ? 0 : 1;
    g_calls_after_halt = 0;
    if (exits) exit(result);
    _exit(result);
  }
  int status = -1;
  waitpid(child, &status, 0);
  printf("child %d\n", status);
  { FERRET_CUDA_SCOPE(stream, "after"); }
  return kResult;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string how = arguments[1];
  if (count > 2) g_fake = Load(arguments[2]);
  if (how == "outcome") return Outcome(false);
  if (how == "no_device") return Outcome(true);
  if (how == "late_initialization") return LateInitialization();
  if (how == "fork") return ForkInScope(false);
  if (how == "fork_exit") return ForkInScope(true);
  atexit(&BetweenFerretsHandlers);
  RecordPairs();
  if (how == "return") return kResult;
  if (how == "exit_in_thread") std::thread([] { exit(kResult); }).join();
  if (how == "_exit") _exit(kResult);
  if (how == "quick_exit") quick_exit(kResult);
  return 99;
}
