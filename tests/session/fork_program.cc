// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that records and makes children in every way that there is. Its arguments say which and how many; it prints
// one number, how many scopes its own trace must have, and ends with 7 if all children ended as they should.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ferret/internal/adapter.h"
#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

constexpr unsigned kPatienceSeconds = 60;

void Record(int count) {
  for (int i = 0; i < count; ++i) { FERRET_SCOPE("scope"); }
}

[[noreturn]] void Report(long count, bool good) {
  printf("%ld\n", count);
  fflush(stdout);
  exit(good ? 7 : 1);
}

bool EndsWell(pid_t child) {
  int status = -1;
  const bool well = child > 0 && waitpid(child, &status, 0) == child && status == 0;
  if (!well) fprintf(stderr, "child %d: status %x\n", child, static_cast<unsigned>(status));
  return well;
}

// In a forked child; whoever waits there for a lock that nobody holds any more dies of it.
pid_t Fork(const std::function<void()>& child) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  alarm(kPatienceSeconds);
  child();
  exit(0);
}

// Child i records i + 1 scopes on each of two threads, and ends as `how` says.
int Children(int count, const std::string& how) {
  Record(5);
  bool good = true;
  for (int i = 0; i < count; ++i) {
    good &= EndsWell(Fork([&] {
      if (how == "bad_start" && ferret::Start("no_such_exporter").empty()) _exit(4);
      if (how != "silent") {
        Record(i + 1);
        std::thread([i] { Record(i + 1); }).join();
      }
      if (how == "flush") {
        if (!ferret::Flush(60'000).empty()) _exit(2);
        _exit(0);
      }
      if (how == "stop") {
        if (!ferret::Stop(60'000).empty()) _exit(2);
        Record(1);
        _exit(ferret::IsRecording() ? 3 : 0);
      }
      if (how == "at once") _exit(0);
    }));
    Record(5);
  }
  Report(5 + 5 * count, good);
}

// A child of a child of a child; each records as many scopes as its generation.
bool Descend(int generation, int last) {
  Record(generation);
  return generation == last || EndsWell(Fork([&] {
           if (!Descend(generation + 1, last)) _exit(1);
         }));
}

// Whether it is the parent that returns, and its child has ended well. The child, too, leaves the scopes that the parent
// began; if it numbered its own anew, they would be taken for these.
bool ForkInScopes(bool* is_parent) {
  FERRET_SCOPE("scope");
  const ferret::AsyncScope async = ferret::BeginAsync("asynchronous");
  FERRET_SCOPE("scope");
  const pid_t child = fork();
  *is_parent = child != 0;
  if (*is_parent) {
    const bool good = EndsWell(child);
    ferret::EndAsync(async);
    return good;
  }
  alarm(kPatienceSeconds);
  ferret::EndAsync(async);
  FERRET_SCOPE("scope");
  FERRET_SCOPE("scope");
  return true;
}

int AcrossOpenScopes() {
  bool is_parent = false;
  const bool good = ForkInScopes(&is_parent);
  if (!is_parent) exit(0);
  Report(2, good);
}

// The parent stops before the child records.
int Outlived(int count) {
  Record(5);
  int stopped[2];
  if (pipe(stopped) != 0) return 1;
  const pid_t child = Fork([&] {
    close(stopped[1]);
    char byte;
    if (read(stopped[0], &byte, 1) != 0) _exit(1);
    Record(count);
  });
  const bool good = ferret::Stop(60'000).empty();
  close(stopped[0]);
  close(stopped[1]);
  const bool well = EndsWell(child);
  Report(5, good && well);
}

// What a child may ask for.
int Session(const std::string& file) {
  Record(1);
  const bool good = EndsWell(Fork([&] {
    if (!ferret::IsRecording()) _exit(10);  // with its next record
    if (!ferret::Stop().empty() || ferret::IsRecording()) _exit(11);
    Record(100);
    if (!ferret::Flush(1000).empty() || ferret::Losses().total() != 0) _exit(12);
    // On its own account.
    if (!ferret::Start("chrome_trace:" + file).empty()) _exit(13);
    if (ferret::Start("table:stderr").empty()) _exit(14);
    Record(3);
    std::thread([] { Record(3); }).join();
    if (!ferret::Stop(60'000).empty() || ferret::Losses().total() != 0) _exit(15);
    Record(100);
    if (EndsWell(Fork([] {
          Record(100);
          if (ferret::IsRecording()) _exit(17);
        }))) {
      _exit(0);
    }
    _exit(16);
  }));
  Report(1, good);
}

// Children by the hundred while threads record, intern, start and end.
int Storm(int forks, bool records) {
  std::atomic<bool> done{false};
  std::atomic<long> scopes{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      long mine = 0;
      for (int i = 0; !done.load(std::memory_order_relaxed); ++i) {
        FERRET_SCOPE("scope");
        if (i % 16 == 0) ferret::internal::InternName("name " + std::to_string(t) + " " + std::to_string(i));
        if (t == 3) {
          std::thread([] { FERRET_SCOPE("scope"); }).join();
          ++mine;
        }
        ++mine;
        // No faster than an exporter can write: what that one drops is not counted here.
        if (i % 16 == 0) usleep(200);
      }
      scopes += mine;
    });
  }
  bool good = true;
  for (int i = 0; i < forks && good; ++i) {
    good = EndsWell(Fork([&] {
      Record(3);
      if (ferret::IsRecording() != records) _exit(4);
      if (records && !ferret::Stop(60'000).empty()) _exit(5);
      _exit(0);
    }));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  // Stopped here, so that what threads lost at the bound of the buffer can be left out of the count.
  if (!ferret::Stop(60'000).empty()) good = false;
  Report(scopes - static_cast<long>(ferret::Losses().total()), good);
}

// The first record of the thread is the child's, which is gone when the drain looks for the thread.
int VforkFirst(int count) {
  bool good = false;
  std::thread([&] {
    const pid_t child = vfork();
    if (child == 0) {
      Record(count);
      _exit(0);
    }
    good = EndsWell(child);
    Record(count);
  }).join();
  Report(count, good && ferret::Losses().total() == static_cast<uint64_t>(count));
}

// Shares the memory and is the thread, as far as Ferret can see.
int Vfork(int count) {
  Record(1);
  const pid_t child = vfork();
  if (child == 0) {
    Record(count);
    _exit(0);
  }
  const bool good = EndsWell(child);
  Record(1);
  Report(count + 2, good);
}

// As programs do that become daemons: whatever is open may be anybody's.
int WithoutDescriptors(int count) {
  Record(count);
  for (int fd = 3; fd < 64; ++fd) close(fd);
  const bool good = EndsWell(Fork([&] { Record(count); }));
  // What the parent records from here on has nowhere to go but the crash file.
  printf("%d\n", count);
  fflush(stdout);
  _exit(good ? 7 : 1);
}

// Its child records, says that it is there, and lives until it is told to end.
int Orphan(int count) {
  Record(count);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGUSR1);
  sigprocmask(SIG_BLOCK, &end, nullptr);
  Fork([&] {
    Record(count);
    printf("%d\n", getpid());
    fflush(stdout);
    int signal = 0;
    sigwait(&end, &signal);
  });
  pause();
  return 1;
}

// A child that handlers know nothing of.
int Raw(int count, const std::string& ends) {
  Record(1);
  // The C library knows nothing of this child: what Ferret's threads held of it, in the middle of an allocation, would stay
  // locked there. So they have nothing to do.
  if (!ferret::Flush(60'000).empty()) return 1;
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    alarm(kPatienceSeconds);
    Record(count);
    if (ferret::IsRecording()) _exit(1);
    ferret::internal::InternName("a name of the child's own");
    if (!ferret::Stop().empty() || ferret::Start("table:stderr").empty()) _exit(2);
    // A child that handlers know of, of one that they do not.
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      Record(count);
      _exit(ferret::IsRecording() ? 1 : 0);
    }
    if (!EndsWell(grandchild)) _exit(3);
    if (ends == "exit") exit(0);
    _exit(0);
  }
  const bool good = EndsWell(child);
  Record(1);
  Report(2, good);
}

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
  const int count = atoi(arguments[2]);
  if (how == "descend") {
    const bool good = Descend(1, count);
    Report(1, good);
  }
  if (how == "open") return AcrossOpenScopes();
  if (how == "session") return Session(arguments[3]);
  if (how == "storm") return Storm(count, std::string(arguments[3]) == "restart");
  if (how == "outlived") return Outlived(count);
  if (how == "closed") return WithoutDescriptors(count);
  if (how == "orphan") return Orphan(count);
  if (how == "vfork") return Vfork(count);
  if (how == "vfork_first") return VforkFirst(count);
  if (how == "raw") return Raw(count, arguments[3]);
  if (how == "children") return Children(count, arguments[3]);
  if (how == "exec") {
    Record(count);
    if (!ferret::Flush(60'000).empty()) return 1;
    // Not flushed: lost, or recovered.
    if (arguments[3] == std::string("dirty")) Record(count);
    execv(arguments[4], arguments + 4);
    return 2;
  }
  if (how == "spawn") {
    Record(count);
    if (!ferret::Flush(60'000).empty()) return 1;
    pid_t child = -1;
    if (posix_spawn(&child, arguments[3], nullptr, nullptr, arguments + 3, environ) != 0) return 2;
    return EndsWell(child) ? 7 : 1;
  }
  return 99;
}
