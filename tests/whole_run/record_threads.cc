// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records on many threads at the same time: none begins before all are there, none ends before all have recorded.
//
//     record_threads THREADS SCOPES_PER_THREAD

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ferret/scope.h"

namespace {

class Barrier {
 public:
  explicit Barrier(int count) : missing_(count) {}

  void ArriveAndWait() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (--missing_ == 0) everyone_is_here_.notify_all();
    everyone_is_here_.wait(lock, [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable everyone_is_here_;
  int missing_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  const int scopes = std::atoi(argv[2]);
  Barrier start(count), end(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ferret::SetThreadName("worker " + std::to_string(i));
      start.ArriveAndWait();
      for (int k = 0; k < scopes; ++k) {
        FERRET_SCOPE("outer");
        FERRET_SCOPE("inner");
      }
      end.ArriveAndWait();
    });
  }
  for (std::thread& thread : threads) thread.join();
}
