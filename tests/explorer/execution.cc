// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/explorer/execution.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/explorer/direct_operation.h"

namespace ferret::explorer {
namespace {

Execution* g_current = nullptr;
ThreadLocals g_locals{nullptr, nullptr};
const volatile void** g_address_used = nullptr;

// Beyond this a thread runs in circles.
constexpr size_t kMaxSteps = 5000;

}  // namespace

void SetThreadLocals(const ThreadLocals& locals) { g_locals = locals; }

Execution::~Execution() { g_current = nullptr; }

Execution* Execution::Current() { return g_current; }
int Execution::CurrentThread() { return g_current == nullptr || g_current->busy_ ? 0 : g_current->current_; }

const volatile void* Execution::AddressUsedBy(const std::function<void()>& action) {
  const volatile void* address = nullptr;
  g_address_used = &address;
  action();
  g_address_used = nullptr;
  return address;
}

void Execution::NoteAddress(const volatile void* address) {
  if (g_address_used != nullptr) *g_address_used = address;
}

void Execution::Run(const std::function<std::unique_ptr<Program>(Execution&)>& make, Chooser& chooser) {
  model_.Reset();
  roles_.clear();
  carried_ = nullptr;
  ignored_.clear();
  undeclared_.clear();
  failure_.clear();
  outcome_.clear();
  steps_.clear();
  given_up_ = quiet_ = false;
  chooser_ = &chooser;
  current_ = 0;
  g_current = this;
  const std::unique_ptr<Program> program = make(*this);
  if (roles_.empty() || roles_.size() >= kMaxThreads) {
    std::fprintf(stderr, "explorer: 1 to %d threads\n", kMaxThreads - 1);
    std::abort();
  }
  void* const locals = g_locals.get != nullptr ? g_locals.get() : nullptr;
  for (int t = 1; t <= threads(); ++t) {
    Thread& thread = threads_[t];
    thread.pending = Operation();
    thread.finished = false;
    thread.history = 0;
    thread.locals = locals;
    thread.fiber.Prepare([this, t, &program] { Body(t, *program); });
  }
  threads_[0].locals = locals;
  busy_ = true;
  choice_ = Next();
  SwitchTo(choice_.thread);
  busy_ = false;
  if (!given_up_) {
    program->Check(*this);
    outcome_ = program->Outcome();
  }
}

void Execution::Body(int thread, Program& program) {
  Execute();
  busy_ = false;
  program.Run(thread);
  busy_ = true;
  threads_[thread].finished = true;
  choice_ = Next();
  SwitchTo(choice_.thread);
}

// Returns when somebody switches back.
void Execution::SwitchTo(int thread) {
  const int from = current_;
  if (thread == from) return;
  if (g_locals.get != nullptr) {
    threads_[from].locals = g_locals.get();
    g_locals.set(threads_[thread].locals);
  }
  current_ = thread;
  (from == 0 ? main_ : threads_[from].fiber).SwitchTo(thread == 0 ? main_ : threads_[thread].fiber);
}

bool Execution::IsReady(int thread) const {
  return !threads_[thread].finished && threads_[thread].pending.kind != OperationKind::kBarrier;
}

Choice Execution::Next() {
  bool ready = false;
  for (int t = 1; t <= threads(); ++t) {
    if (threads_[t].finished) continue;
    if (threads_[t].pending.kind == OperationKind::kStart) return {t, 0};  // runs to its first operation
    ready |= IsReady(t);
  }
  if (ready) {
    if (!quiet_ && !given_up_ && failure_.empty()) {
      const Choice choice = chooser_->Choose(*this);
      if (choice.thread != 0) return choice;
      given_up_ = true;
    }
    int next = current_;
    if (next == 0 || !IsReady(next)) {
      for (next = 1; !IsReady(next); ++next) {
      }
    }
    return {next, AlternativesOf(next).front()};
  }
  for (int t = 1; t <= threads(); ++t) {
    if (!threads_[t].finished) {
      quiet_ = true;
      return {t, 0};
    }
  }
  return {};
}

uint64_t Execution::Perform(Operation operation) {
  busy_ = true;
  const int thread = current_;
  if (steps_.size() >= kMaxSteps) {
    std::fprintf(stderr, "explorer: no end after %zu operations\n%s", kMaxSteps, Schedule().c_str());
    std::abort();
  }
  if (operation.IsOnLocation()) NoteSite(operation);
  if (weak_ != nullptr && operation.IsOnLocation() && operation.kind == weak_->kind &&
      model_.location(operation.place).kind == weak_->location && roles_[thread - 1] == weak_->role) {
    operation.order = operation.order_of_failure = std::memory_order_relaxed;
  }
  threads_[thread].pending = operation;
  choice_ = Next();
  SwitchTo(choice_.thread);
  const uint64_t result = Execute();
  busy_ = false;
  return result;
}

void Execution::NoteSite(const Operation& operation) {
  bool& noted = noted_[current_][operation.place][static_cast<size_t>(operation.kind)];
  if (operation.order == std::memory_order_relaxed || noted) return;
  noted = true;  // all executions declare the same
  Site site{roles_[current_ - 1], operation.kind, model_.location(operation.place).kind};
  if (std::find(sites_.begin(), sites_.end(), site) == sites_.end()) sites_.push_back(std::move(site));
}

void Execution::Fail(const std::string& what) {
  if (!failure_.empty() || given_up_) return;
  failure_ = what;
  failed_at_ = steps_.size();
}

void Execution::Barrier() {
  Operation operation;
  operation.kind = OperationKind::kBarrier;
  Perform(operation);
}

int Execution::NewQueue() {
  if (g_current != this) std::abort();
  Queue queue;
  queue.name = "queue " + std::to_string(model_.queues());
  return model_.AddQueue(std::move(queue));
}

uint64_t Execution::PerformAt(const volatile void* address, int bytes, Operation operation) {
  operation.place = model_.Find(address);
  return operation.place == kNoPlace ? PerformUndeclared(address, bytes, operation) : Perform(operation);
}

uint64_t Execution::PerformUndeclared(const volatile void* address, int bytes, const Operation& operation) {
  busy_ = true;
  if (std::find(ignored_.begin(), ignored_.end(), address) == ignored_.end()) {
    auto use = std::find_if(undeclared_.begin(), undeclared_.end(),
                            [address](const Undeclared& u) { return u.address == address; });
    if (use == undeclared_.end()) use = undeclared_.insert(use, {address, 0, 0});
    use->users |= 1u << current_;
    if (operation.kind != OperationKind::kLoad) use->writers |= 1u << current_;
    if (use->writers != 0 && (use->users & (use->users - 1)) != 0 && !quiet_) {
      Fail("an atomic that threads share was not declared");
    }
  }
  busy_ = false;
  return PerformDirectly(address, bytes, operation);
}

void Execution::AccessBytes(const volatile void* address, size_t bytes, bool write) {
  busy_ = true;
  std::string race = model_.AccessBytes(current_, address, bytes, write);
  if (!race.empty()) Fail("data race: " + race + " by " + roles_[current_ - 1]);
  busy_ = false;
}

}  // namespace ferret::explorer
