// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// end_program HOW: a process with exporters of its own, which print "closed" when they are closed, and an end that Ferret has
// to see by itself.

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "ferret/scope.h"
#include "ferret/session.h"
#include "runtime/session/process_session.h"

namespace ferret {
namespace {

void Say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) abort();
}

struct Behaviour {
  void (*open)(const SessionInfo&) = [](const SessionInfo&) {};
  void (*batch)() = [] {};
  void (*close)() = [] {};
};

class TellingExporter final : public Exporter {
 public:
  explicit TellingExporter(const Behaviour& behaviour) : behaviour_(behaviour) {}
  absl::Status Open(const SessionInfo& info) override {
    behaviour_.open(info);
    return absl::OkStatus();
  }
  absl::Status Export(const EventBatch&) override {
    behaviour_.batch();
    return absl::OkStatus();
  }
  absl::Status Flush(const ExportProgress&, absl::Time) override { return absl::OkStatus(); }
  absl::Status Close(const ExportProgress&, absl::Time) override {
    behaviour_.close();
    Say("closed");
    return absl::OkStatus();
  }

 private:
  const Behaviour behaviour_;
};

void Start(const Behaviour& behaviour) {
  Options options;
  options.stop_deadline = absl::Seconds(60);
  std::vector<NamedExporter> exporters;
  exporters.push_back({"tells", std::make_unique<TellingExporter>(behaviour)});
  if (!StartSession(options, std::move(exporters)).ok()) abort();
  { FERRET_SCOPE("scope"); }
}

// The main thread ends by itself, and another one after it.
[[noreturn]] void EndAllThreads() {
  static const pthread_t main_thread = pthread_self();
  std::thread([] { pthread_join(main_thread, nullptr); }).detach();
  pthread_exit(nullptr);
}

sem_t g_opened, g_second_leaves;

int End(const std::string& how) {
  sem_init(&g_opened, 0, 0);
  sem_init(&g_second_leaves, 0, 0);
  Behaviour behaviour;
  if (how == "stopped") {
    Start(behaviour);
    if (!Stop().empty()) return 98;
    EndAllThreads();
  }
  if (how == "abandoned") {
    behaviour.batch = [] {
      for (;;) pause();
    };
    Start(behaviour);
    if (Stop(200).empty()) return 98;
    EndAllThreads();
  }
  if (how == "late_handler") {
    behaviour.open = [](const SessionInfo& info) {
      atexit([] { Say("handler"); });
      info.before_exit_handlers_so_far();
      sem_post(&g_opened);
    };
    Start(behaviour);
    sem_wait(&g_opened);
    exit(7);
  }
  // The second one leaves while the first one waits for the exporter.
  if (how == "two_exits") {
    behaviour.close = [] {
      std::thread([] {
        sem_post(&g_second_leaves);
        _exit(7);
      }).detach();
      sem_wait(&g_second_leaves);
      // Time in which it would end the process, if it did not wait.
      absl::SleepFor(absl::Milliseconds(200));
    };
    Start(behaviour);
    _exit(7);
  }
  return 99;
}

}  // namespace
}  // namespace ferret

int main(int, char** arguments) { return ferret::End(arguments[1]); }
