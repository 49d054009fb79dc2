// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A piece of work whose instructions are counted. Everything about it is fixed: what it is given, how often it runs, and
// that no other thread runs meanwhile.

#ifndef FERRET_TESTS_INSTRUCTIONS_WORK_H_
#define FERRET_TESTS_INSTRUCTIONS_WORK_H_

#include <cstdint>
#include <memory>
#include <string_view>

namespace ferret {

class Work {
 public:
  virtual ~Work() = default;
  // Not counted: makes everything warm that is warm in a long run, and ready what the next Run takes.
  virtual void Prepare() = 0;
  // Counted.
  virtual void Run() = 0;
  // Scopes or events that one Run handles.
  virtual int64_t units() const = 0;
  // Whether each unit is a call of an otherwise empty function, which is not what is to be counted.
  virtual bool in_calls() const { return false; }
};

// nullptr if it is none of theirs.
std::unique_ptr<Work> RecordingWork(std::string_view name);
std::unique_ptr<Work> DrainWork(std::string_view name);
std::unique_ptr<Work> ExporterWork(std::string_view name);

}  // namespace ferret

#endif  // FERRET_TESTS_INSTRUCTIONS_WORK_H_
