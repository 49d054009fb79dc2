// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that records until it is killed, and keeps account of it where the killer finds it:
//
//   killed_program THREADS SLOW MARKERS
//
// Even threads record forward ops, each with the next number; odd threads record the backward op of each forward op of
// the thread before. Every thread has one scope that it never ends. MARKERS is a file of a word for each thread, mapped:
// the number of the latest op whose end was recorded. With SLOW = 1 there is an exporter that takes its time.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "ferret/scope.h"
#include "runtime/session/environment.h"
#include "runtime/session/process_session.h"

namespace {

class SlowExporter final : public ferret::Exporter {
 public:
  absl::Status Open(const ferret::SessionInfo&) override { return absl::OkStatus(); }
  absl::Status Export(const ferret::EventBatch&) override {
    const timespec nap{0, 3'000'000};
    nanosleep(&nap, nullptr);
    return absl::OkStatus();
  }
  absl::Status Flush(const ferret::ExportProgress&, absl::Time) override { return absl::OkStatus(); }
  absl::Status Close(const ferret::ExportProgress&, absl::Time) override { return absl::OkStatus(); }
};

using Marker = std::atomic<uint64_t>;

void Forward(const std::string& name, Marker* marker) {
  for (int64_t number = 1;; ++number) {
    {
      const ferret::OpScope op(name, ferret::ForwardOp(number));
      FERRET_SCOPE("inside");
    }
    marker->store(static_cast<uint64_t>(number), std::memory_order_release);
  }
}

void Backward(const std::string& name, uint32_t forward_thread, const Marker* forward, Marker* marker) {
  for (uint64_t number = 1;; ++number) {
    while (forward->load(std::memory_order_acquire) < number) sched_yield();
    { const ferret::OpScope op(name, ferret::BackwardOp(static_cast<int64_t>(number), forward_thread)); }
    marker->store(number, std::memory_order_release);
  }
}

}  // namespace

int main(int argc, char** arguments) {
  if (argc != 4) return 2;
  const size_t threads = static_cast<size_t>(atoi(arguments[1]));
  const int file = open(arguments[3], O_RDWR);
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return 3;
  auto* const markers = static_cast<Marker*>(memory);
  alarm(120);

  std::vector<ferret::NamedExporter> more;
  if (arguments[2][0] == '1') more.push_back({"slow", std::make_unique<SlowExporter>()});
  const absl::StatusOr<ferret::Options> options = ferret::OptionsFromEnvironment();
  if (!options.ok() || !ferret::StartSession(*options, std::move(more)).ok()) return 4;

  std::vector<std::thread> running;
  std::vector<std::atomic<uint32_t>> ids(threads);
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const ferret::Scope life("life" + std::to_string(i));
      ids[i].store(ferret::ThreadId(), std::memory_order_release);
      if (i % 2 == 0) {
        Forward("f" + std::to_string(i), &markers[i]);
      } else {
        uint32_t forward = 0;
        while ((forward = ids[i - 1].load(std::memory_order_acquire)) == 0) sched_yield();
        Backward("b" + std::to_string(i), forward, &markers[i - 1], &markers[i]);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
}
