// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Handles of streams and the times of their work.
#include "tests/device/fake_cuda/streams.h"

#include <algorithm>

namespace fake_cuda {
namespace {

// Also across Reset. Guarded by the driver's mutex.
uint64_t next_id = 1;

// Later than every test's end, and still far from overflow.
constexpr int64_t kFarNs = INT64_MAX / 4;

}  // namespace

size_t Streams::Add(size_t context, unsigned flags, int priority) {
  const Stream stream{next_id++, context, flags, priority, contexts_.At(context).green};
  size_t index = streams_.size();
  if (destroyed_.empty()) {
    streams_.push_back(stream);
  } else {
    index = destroyed_.back();
    destroyed_.pop_back();
    streams_[index] = stream;
  }
  contexts_.At(context).streams.push_back(index);
  return index;
}

void Streams::Destroy(size_t index) {
  Stream& stream = streams_[index];
  stream.alive = false;
  stream.capture = Capture{};
  std::vector<size_t>& of_context = contexts_.At(stream.context).streams;
  of_context.erase(std::remove(of_context.begin(), of_context.end(), index), of_context.end());
  destroyed_.push_back(index);
}

size_t Streams::Legacy(size_t context) {
  size_t& legacy = contexts_.At(context).legacy_stream;
  if (legacy == HandleSpace::kNone) {
    legacy = Add(context, 0, 0);
    streams_[legacy].legacy = true;
  }
  return legacy;
}

size_t Streams::PerThread(size_t context, int tid) {
  const auto [found, added] = contexts_.At(context).per_thread_streams.try_emplace(tid, HandleSpace::kNone);
  if (added) found->second = Add(context, 0, 0);
  return found->second;
}

int64_t Streams::ReadyNs(size_t index) {
  const Stream& stream = streams_[index];
  const Context& context = contexts_.At(stream.context);
  int64_t ready_ns = stream.ready_ns;
  if (stream.legacy) {
    for (const size_t other : context.streams) {
      if (streams_[other].Blocking()) ready_ns = std::max(ready_ns, streams_[other].ready_ns);
    }
  } else if (stream.Blocking() && context.legacy_stream != HandleSpace::kNone) {
    ready_ns = std::max(ready_ns, streams_[context.legacy_stream].ready_ns);
  }
  return ready_ns;
}

int64_t Streams::Enqueue(size_t index, int64_t ns, int64_t now_ns) {
  const int64_t start_ns = std::max(ReadyNs(index), now_ns);
  const int64_t end_ns = std::min(start_ns, kFarNs) + std::clamp(ns, int64_t{0}, kFarNs);
  // Blocking streams ask the legacy stream's time when they are next used: nothing is pushed to them here.
  streams_[index].ready_ns = end_ns;
  return end_ns;
}

}  // namespace fake_cuda
