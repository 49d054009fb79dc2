// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that does not get on:
//
//   hung_program lock    a worker waits for a mutex that the main thread holds, inside of two scopes
//   hung_program stuck   the same, and an exporter never returns
//   hung_program fast    two threads record nested scopes as fast as they can
//
// It prints "ready", and goes on to its end at SIGUSR1.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "ferret/scope.h"
#include "runtime/session/environment.h"
#include "runtime/session/process_session.h"

namespace {

// Opened at SIGUSR1.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return open; });
  }
  void Open() {
    std::lock_guard<std::mutex> lock(mutex);
    open = true;
    changed.notify_all();
  }
};

Gate g_gate;

class StuckExporter final : public ferret::Exporter {
 public:
  absl::Status Open(const ferret::SessionInfo&) override { return absl::OkStatus(); }
  absl::Status Export(const ferret::EventBatch&) override {
    g_gate.Wait();
    return absl::OkStatus();
  }
  absl::Status Flush(const ferret::ExportProgress&, absl::Time) override { return absl::OkStatus(); }
  absl::Status Close(const ferret::ExportProgress&, absl::Time) override { return absl::OkStatus(); }
};

void WaitForSignal() {
  printf("ready\n");
  fflush(stdout);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  int signal = 0;
  sigwait(&signals, &signal);
  g_gate.Open();
}

void HangInLock() {
  std::mutex held;
  std::unique_lock<std::mutex> lock(held);
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    ferret::SetThreadName("trainer");
    for (int i = 0; i < 3; ++i) {
      const ferret::Scope scope("step " + std::to_string(i));
    }
    FERRET_SCOPE("train step");
    FERRET_SCOPE("wait for lock");
    ++ready;
    const std::lock_guard<std::mutex> waiting(held);
  });
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      { FERRET_SCOPE("loaded a batch"); }
      ++ready;
      g_gate.Wait();
    });
  }
  while (ready != 4) sched_yield();
  WaitForSignal();
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
}

void RecordFast() {
  std::atomic<bool> stop{false};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const ferret::Scope life("level 0");
      ++ready;
      while (!stop) {
        FERRET_SCOPE("level 1");
        for (int j = 0; j < 3; ++j) {
          FERRET_SCOPE("level 2");
          FERRET_SCOPE("level 3");
        }
      }
    });
  }
  while (ready != 2) sched_yield();
  WaitForSignal();
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** arguments) {
  if (argc != 2) return 2;
  const std::string mode = arguments[1];
  alarm(120);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  std::vector<ferret::NamedExporter> more;
  if (mode == "stuck") more.push_back({"stuck", std::make_unique<StuckExporter>()});
  const absl::StatusOr<ferret::Options> options = ferret::OptionsFromEnvironment();
  if (!options.ok() || !ferret::StartSession(*options, std::move(more)).ok()) return 4;
  {
    FERRET_SCOPE("main loop");
    mode == "fast" ? RecordFast() : HangInLock();
  }
  return ferret::StopSession(absl::Seconds(60)).ok() ? 0 : 5;
}
