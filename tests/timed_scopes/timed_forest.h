// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// TimedForest: batches of a made-up run in which nested scopes are timed on devices, as the drain delivers such a run: a
// scope when it closes; in later batches, in no particular order, what its pair of marks took on the device, and whose
// time that is.
//
// Streams are simulated: marks of all threads that use one stand in the order in which they were made, so that
// intervals of one thread nest and those of two threads cross.

#ifndef FERRET_TESTS_TIMED_SCOPES_TIMED_FOREST_H_
#define FERRET_TESTS_TIMED_SCOPES_TIMED_FOREST_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ferret/device_loss.h"
#include "ferret/event_batch.h"

namespace ferret {

struct ForestShape {
  uint32_t seed = 1;
  int scopes = 1000;
  int threads = 3;
  int devices = 2;
  int streams = 2;           // of each device
  int deepest = 6;
  int failures = 10;         // of 100 pairs
  bool shares_streams = true;  // threads use one another's
  int64_t start_ns = 0;      // Unix ns
  int64_t jitter_ns = 300;   // of times on the device
};

class TimedForest {
 public:
  explicit TimedForest(const ForestShape& shape);

  const std::deque<EventBatch>& batches() const { return batches_; }
  const DeviceCounts& counts() const { return counts_; }
  size_t kernels() const { return kernels_; }
  size_t outer_pairs() const { return outer_pairs_; }
  size_t drawn_annotations() const { return drawn_; }

 private:
  struct Node {
    Node* parent = nullptr;
    FunctionEvent event;  // with its name
    std::string recorded;
    bool is_timed = false;
    bool has_failed = false;
    bool has_timed_inside = false;
    bool is_settled = false;
    int64_t settled_ns = 0;
    int16_t device = 0;
    int32_t stream = 0;
    DeviceLaunch launch;
    int64_t device_start_ns = 0;
    int64_t device_end_ns = 0;
    std::vector<Node*> children;
  };
  using Stream = std::pair<int16_t, int32_t>;

  uint32_t Random(uint32_t below) { return below == 0 ? 0 : static_cast<uint32_t>(random_() % below); }
  int64_t Tick() { return now_ns_ += 1 + Random(400); }
  int64_t Mark(Stream stream);
  void Open(size_t thread);
  void Close(size_t thread);
  void Describe(Node* node);
  void SettleOne(bool only_ready);
  void Settle(Node* node);
  void Share(const Node& node, int64_t self_ns, int64_t total_ns);
  void Spread(Node* node, int64_t duration_ns);
  void DeliverPair(const Node& node);
  void DrawAnnotations();
  static bool AllSettled(const Node& node, bool include_self);
  static int64_t SettledInside(const Node& node);
  EventBatch& Batch();
  void Name(Node* node);

  const ForestShape shape_;
  std::mt19937 random_;
  int64_t now_ns_;
  int64_t next_id_ = 1;
  int64_t next_correlation_ = 1;
  int opened_ = 0;
  std::deque<std::string> names_;
  std::deque<Node> nodes_;
  std::vector<std::vector<Node*>> open_;  // of each thread
  std::vector<Node*> waiting_;            // closed, timed, not settled
  std::vector<Node*> annotations_;        // closed, not timed, not drawn
  std::map<Stream, int64_t> stream_time_;
  std::set<std::pair<Stream, int64_t>> starts_;  // no two on one stream are the same
  std::deque<EventBatch> batches_;
  DeviceCounts counts_;
  size_t kernels_ = 0;
  size_t outer_pairs_ = 0;
  size_t drawn_ = 0;
};

}  // namespace ferret

#endif  // FERRET_TESTS_TIMED_SCOPES_TIMED_FOREST_H_
