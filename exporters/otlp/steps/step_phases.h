// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// StepPhases: what a training step spent its time on, from the names that PyTorch gives to its parts.
//
//     data       enumerate(DataLoader)#…
//     backward   from the first backward operator to the last one before the next data or optimizer
//     optimizer  Optimizer.*
//     comm       nccl:…, gloo:…, c10d::…: from the first to the last, beside the others
//     forward    what lies before a backward phase or, where none has been, before an optimizer; and between data and data or
//                the step's end
//
// A step that accumulates gradients has several of each. One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_STEP_PHASES_H_
#define FERRET_EXPORTERS_OTLP_STEPS_STEP_PHASES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ferret/function_event.h"

namespace ferret::otlp {

enum class Phase : uint8_t { kNone, kData, kForward, kBackward, kOptimizer, kComm };
inline constexpr size_t kPhaseCount = 6;
std::string_view PhaseText(Phase phase);

class StepPhases {
 public:
  struct Interval {
    Phase phase = Phase::kNone;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int64_t busy_ns = 0;  // of it, what is covered by events of that phase; of forward: all
  };

  // Of every event that is not a step.
  void Note(const FunctionEvent& event);

  // The phases of the step from `start_ns` to `end_ns`, comm first, then the others by their starts. What began before its
  // end is forgotten.
  std::vector<Interval> Take(int64_t start_ns, int64_t end_ns);

  // So many are shown as spans.
  static constexpr size_t kMostSpans = 64;

 private:
  // One event of a phase, or of backward a run of them.
  struct Marker {
    Phase phase;
    int64_t start_ns;
    int64_t end_ns;
  };
  // Of more than that, each phase has one that spans all.
  static constexpr size_t kMostMarkers = 65536;

  Phase PhaseOf(const FunctionEvent& event);

  std::vector<int8_t> by_name_id_;  // -1: not looked at yet
  std::vector<Marker> markers_;   // from taken_ on
  size_t taken_ = 0;
  bool sorted_ = true;
  std::array<Marker, kPhaseCount> rest_{};  // by phase; kNone if there is none
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_STEP_PHASES_H_
