// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Execution: one run of a program's threads, in the order and with the outcomes that a chooser decides.
//
// The program is real code whose atomic operations and plain accesses the compiler reports (instrumentation.cc). It
// declares what its threads share; an atomic that two threads use undeclared, one of them storing, is an error.

#ifndef FERRET_TESTS_EXPLORER_EXECUTION_H_
#define FERRET_TESTS_EXPLORER_EXECUTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/explorer/fiber.h"
#include "tests/explorer/memory_model.h"
#include "tests/explorer/operation.h"

namespace ferret::explorer {

class Execution;

// Made anew for every execution, so that each starts from the same state.
class Program {
 public:
  virtual ~Program() = default;
  // The body of thread 1, 2, …
  virtual void Run(int thread) = 0;
  // After all threads: checks, by Execution::Fail.
  virtual void Check(Execution&) {}
  // What is observable, for tests that compare what is possible with what should be.
  virtual std::string Outcome() { return {}; }
};

// A release or an acquire, by what all its instances have in common.
struct Site {
  std::string role;  // of the thread
  OperationKind kind;
  std::string location;  // Location::kind
  bool operator<(const Site& other) const;
  bool operator==(const Site& other) const { return !(*this < other) && !(other < *this); }
  std::string Text() const;
};

struct Choice {
  int thread = 0;
  Alternative alternative = 0;
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  // A thread that is ready and one of its alternatives; thread 0 to give the execution up.
  virtual Choice Choose(const Execution& execution) = 0;
  // `changed`: others may notice.
  virtual void Executed(const Execution& execution, int thread, const Operation& operation, bool changed) = 0;
};

class Execution {
 public:
  // Operations at `weak`, which may be null, become relaxed.
  explicit Execution(const Site* weak) : weak_(weak) {}
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // The one that is running, or being set up.
  static Execution* Current();
  // Its thread that is running now, or 0.
  static int CurrentThread();

  MemoryModel& model() { return model_; }
  const MemoryModel& model() const { return model_; }

  // For the program's constructor. Roles, one for each thread.
  void DeclareThreads(std::vector<std::string> roles) { roles_ = std::move(roles); }
  // With each pointer that is pushed goes the value of one location.
  void CarryWithPointers(std::function<int(void*)> place) { carried_ = std::move(place); }
  // Atomics of which threads may see any value at any time without harm.
  void Ignore(const volatile void* address) { ignored_.push_back(address); }
  // The address of the last atomic that `action` uses.
  static const volatile void* AddressUsedBy(const std::function<void()>& action);

  void Run(const std::function<std::unique_ptr<Program>(Execution&)>& make, Chooser& chooser);

  // The first failure counts. The execution goes on, without choices, to leave nothing behind.
  void Fail(const std::string& what);
  // Waits for all other threads to get there or end. From there on threads run one after the other and see everything.
  void Barrier();

  bool given_up() const { return given_up_; }
  const std::string& failure() const { return failure_; }
  const std::string& outcome() const { return outcome_; }
  // The operations up to the failure, or all, in words.
  std::string Schedule() const;
  size_t schedule_length() const { return failure_.empty() ? steps_.size() : failed_at_; }
  // All operations.
  size_t steps() const { return steps_.size(); }
  // The same for two executions in which all threads did and saw the same, whatever the order.
  uint64_t fingerprint() const;
  const std::vector<Site>& sites() const { return sites_; }
  int threads() const { return static_cast<int>(roles_.size()); }

  // For choosers. Ready threads have a pending operation and do not wait.
  bool IsReady(int thread) const;
  const Operation& pending(int thread) const { return threads_[thread].pending; }
  std::vector<Alternative> AlternativesOf(int thread) const;
  // Whether no other thread that is ready may change how the operation turns out, or would be changed by it.
  bool IsUndisturbed(int thread) const;

  // For instrumentation and the queue.
  static void NoteAddress(const volatile void* address);
  uint64_t Perform(Operation operation);
  uint64_t PerformAt(const volatile void* address, int bytes, Operation operation);
  void AccessBytes(const volatile void* address, size_t bytes, bool write);
  int NewQueue();

 private:
  struct Thread {
    Fiber fiber;
    Operation pending;
    bool finished = true;
    uint64_t history = 0;
    void* locals = nullptr;  // see ThreadLocals
  };
  struct Step {
    int thread;
    Operation operation;
    uint64_t value;
    size_t older;  // stores that were newer than the one read
  };
  struct Undeclared {
    const volatile void* address;
    uint32_t users;
    uint32_t writers;
  };

  void Body(int thread, Program& program);
  Choice Next();
  void SwitchTo(int thread);
  uint64_t Execute();
  uint64_t ExecuteUpdate(int thread, const Operation& operation, Alternative alternative, bool* changed);
  uint64_t ExecutePop(int thread, const Operation& operation, Alternative alternative);
  void CheckStore(int thread, int place);
  void Observe(int thread, const Operation& operation, uint64_t what);
  std::string Text(const Step& step) const;
  void NoteSite(const Operation& operation);
  bool OthersMayAct(int thread, uint32_t among) const;
  uint64_t PerformUndeclared(const volatile void* address, int bytes, const Operation& operation);

  const Site* const weak_;
  MemoryModel model_;
  std::vector<std::string> roles_;
  std::function<int(void*)> carried_;
  std::vector<const volatile void*> ignored_;
  std::vector<Undeclared> undeclared_;
  Chooser* chooser_ = nullptr;
  Fiber main_;
  Thread threads_[kMaxThreads];
  int current_ = 0;
  Choice choice_;
  bool busy_ = false;      // inside the explorer: what the compiler reports is its own
  bool given_up_ = false;
  bool quiet_ = false;  // beyond the barrier
  std::string failure_;
  size_t failed_at_ = 0;
  std::string outcome_;
  std::vector<Step> steps_;
  std::vector<Site> sites_;
  bool noted_[kMaxThreads][kMaxLocations][3] = {};  // by kind of operation: load, store, update
};

// What is thread-local for the code under test: kept for each modelled thread. Set by the code that knows it.
struct ThreadLocals {
  void* (*get)();
  void (*set)(void*);
};
void SetThreadLocals(const ThreadLocals& locals);

}  // namespace ferret::explorer

#endif  // FERRET_TESTS_EXPLORER_EXECUTION_H_
