// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program with training steps that ends in one way or another.
//
//     run_steps HOW STEPS SCOPES_PER_STEP [STEPS_PER_SECOND]
//
// No faster than so many steps a second, if that is given. With 0 STEPS it goes on until there is something to read on
// standard input. HOW is
//   return, exit: so it ends, and Ferret with it;
//   stop: Stop with a long deadline first; says as JSON what was attempted and lost, and how much memory was in use;
//   symbols: the same as return, but stops first and says which of other libraries' functions all the process can see;
//   fork: a child comes into being in the middle, records a little and exits; 1 if it does so in any other way;
//   killed: by SIGKILL, with so many scopes of a further step recorded;
//   sealed: a thread records that may make no system calls. Says as JSON which it wanted to make.

#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

uint64_t ResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes;
  }
  return 0;
}

void RecordScopes(uint64_t scopes) {
  for (uint64_t i = 0; i < scopes; ++i) {
    FERRET_SCOPE("scope");
  }
}

void RecordStep(uint64_t scopes) {
  RecordScopes(scopes);
  ferret::Step();
}

bool MayEnd() {
  pollfd entry = {STDIN_FILENO, POLLIN, 0};
  return poll(&entry, 1, 10) > 0;
}

struct Memory {
  uint64_t after_tenth = 0;
  uint64_t highest_after = 0;
};

Memory RecordSteps(uint64_t steps, uint64_t scopes, uint64_t per_second = 0) {
  Memory memory;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t step = 0; steps == 0 ? !MayEnd() : step < steps; ++step) {
    RecordStep(scopes);
    if (per_second != 0) std::this_thread::sleep_until(start + std::chrono::microseconds(step * 1000000 / per_second));
    if (steps == 0 || step < steps / 10 || step % std::max<uint64_t>(steps / 1000, 1) != 0) continue;
    const uint64_t resident = ResidentKilobytes();
    if (memory.after_tenth == 0) memory.after_tenth = resident;
    memory.highest_after = std::max(memory.highest_after, resident);
  }
  return memory;
}

int StopAndSay(uint64_t attempted, const Memory& memory) {
  const ferret::Error error = ferret::Stop(300000);
  if (!error.empty()) std::fprintf(stderr, "stop: %s\n", error.c_str());
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("{\"attempted\": %llu, \"lost\": %llu, \"kb_after_tenth\": %llu, \"kb_highest_after\": %llu}\n",
              number(attempted), number(ferret::Losses().total()), number(memory.after_tenth),
              number(memory.highest_after));
  return error.empty() ? 0 : 1;
}

void SaySymbols() {
  for (const char* name : {"curl_easy_init", "curl_multi_perform", "grpc_init", "grpc_channel_create",
                           "gpr_malloc", "_ZN4grpc10ClientContextC1Ev", "_ZN6google8protobuf7MessageD0Ev",
                           "ferret_otlp_grpc_open"}) {
    if (dlsym(RTLD_DEFAULT, name) != nullptr) std::printf("%s\n", name);
  }
}

int Fork(uint64_t scopes) {
  const pid_t child = fork();
  if (child == 0) {
    RecordStep(scopes);
    std::exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

// By number: how often the sealed thread wanted to make it.
constexpr int kCalls = 512;
std::atomic<int> g_wanted[kCalls];
std::atomic<bool> g_sealed_done{false};

void OnSystemCall(int, siginfo_t* info, void*) { ++g_wanted[std::min(info->si_syscall, kCalls - 1)]; }

// From here on the calling thread's system calls are not made, but counted. It may read the clock, which is one where there
// is no vDSO, and end.
bool Seal() {
  const auto load_number = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, load_number),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int RecordSealed(uint64_t steps, uint64_t scopes) {
  struct sigaction action = {};
  action.sa_sigaction = OnSystemCall;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return 2;
  std::thread([=] {
    RecordStep(scopes);  // what is done once for a thread and for a site
    if (!Seal()) std::_Exit(3);
    syscall(SYS_getppid);  // so much for the seal
    if (g_wanted[SYS_getppid].exchange(0) != 1) std::_Exit(4);
    for (uint64_t step = 0; step < steps; ++step) RecordStep(scopes);
    g_sealed_done.store(true);
    syscall(SYS_exit, 0);  // not as other threads end, which takes system calls
  }).detach();
  while (!g_sealed_done.load()) std::this_thread::yield();
  std::printf("{\"lost\": %llu, \"wanted\": {", static_cast<unsigned long long>(ferret::Losses().total()));
  const char* comma = "";
  for (int i = 0; i < kCalls; ++i) {
    if (g_wanted[i] == 0) continue;
    std::printf("%s\"%d\": %d", comma, i, g_wanted[i].load());
    comma = ", ";
  }
  std::printf("}}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const std::string how = argv[1];
  const uint64_t steps = std::strtoull(argv[2], nullptr, 10);
  const uint64_t scopes = std::strtoull(argv[3], nullptr, 10);
  if (how == "sealed") return RecordSealed(steps, scopes);
  const Memory memory = RecordSteps(steps, scopes, argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0);
  if (how == "stop") return StopAndSay(steps * scopes, memory);
  if (how == "exit") std::exit(0);
  if (how == "killed") {
    RecordScopes(scopes);
    raise(SIGKILL);
  }
  if (how == "symbols") {
    if (const ferret::Error error = ferret::Stop(300000); !error.empty()) return 1;
    SaySymbols();
    return 0;
  }
  if (how == "fork") {
    if (const int failed = Fork(scopes); failed != 0) return failed;
    RecordSteps(steps, scopes);
    return 0;
  }
  return how == "return" ? 0 : 2;
}
