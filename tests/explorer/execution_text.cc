// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Execution in words.

#include <tuple>

#include "tests/explorer/execution.h"

namespace ferret::explorer {
namespace {

const char* Name(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed: return "relaxed";
    case std::memory_order_consume: return "consume";
    case std::memory_order_acquire: return "acquire";
    case std::memory_order_release: return "release";
    case std::memory_order_acq_rel: return "acq_rel";
    case std::memory_order_seq_cst: return "seq_cst";
  }
  return "?";
}

const char* Verb(OperationKind kind) {
  switch (kind) {
    case OperationKind::kLoad: return "loads";
    case OperationKind::kStore: return "stores";
    case OperationKind::kUpdate: return "updates";
    case OperationKind::kPush: return "pushes onto";
    case OperationKind::kPop: return "pops from";
    case OperationKind::kBarrier: return "passes the barrier";
    case OperationKind::kStart: return "starts";
  }
  return "?";
}

}  // namespace

bool Site::operator<(const Site& other) const {
  return std::tie(role, kind, location) < std::tie(other.role, other.kind, other.location);
}

std::string Site::Text() const { return role + " " + Verb(kind) + " " + location; }

std::string Execution::Text(const Step& step) const {
  const Operation& operation = step.operation;
  std::string text = std::to_string(step.thread) + " " + roles_[step.thread - 1] + " " + Verb(operation.kind);
  if (operation.IsOnLocation()) {
    text += " " + model_.location(operation.place).name + " " + Name(operation.order);
    text += ": " + std::to_string(step.value);
    if (step.older != 0) text += ", older by " + std::to_string(step.older);
  } else if (operation.IsOnQueue()) {
    text += " " + model_.queue(operation.place).name;
    if (operation.kind == OperationKind::kPop) text += ": " + std::to_string(step.value);
  }
  return text;
}

std::string Execution::Schedule() const {
  std::string text;
  for (size_t i = 0; i < schedule_length(); ++i) text += "    " + Text(steps_[i]) + "\n";
  if (!failure_.empty()) text += "    then: " + failure_ + "\n";
  return text;
}

}  // namespace ferret::explorer
