// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeviceRows: events on devices as Kineto shows them.
//
// A device is a process of its own (pid = its index) and a stream is a track in it. What was timed as a kernel has two
// rows and an arrow between them: the launch on its thread, the work on its stream. Where the pair of marks is around
// other timed scopes too, or was drawn around several kernels, it is a gpu_user_annotation, on the stream only.
//
// HTA takes every row with a `stream` for a kernel, so annotations say theirs as `on stream`. `ferret_legacy` is 1
// where device time is that of one pair of marks around an operator and its children (FunctionEvent::is_legacy), on the
// row of the operator as well. Intervals of a stream that cross have further tracks, see stream_lanes.h.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_DEVICE_ROWS_H_
#define FERRET_EXPORTERS_CHROME_TRACE_DEVICE_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exporters/chrome_trace/stream_lanes.h"
#include "ferret/event_batch.h"
#include "runtime/export/exporter.h"
#include "runtime/export/file/unit_buffer.h"

namespace ferret::chrome_trace {

class DeviceRows {
 public:
  // Beyond, the stream that was longest without a row is forgotten: if it comes again its rows may get other tracks.
  static constexpr size_t kMostStreams = 256;

  DeviceRows(const SessionInfo& info, UnitBuffer* out);

  // What the batch says of devices and streams.
  void Note(const EventBatch& batch);
  // A new file: names are written again where they are needed.
  void BeginPart();
  // An event on a device, with its launch.
  void Write(const FunctionEvent& event);

  // The elements of deviceProperties, as JSON.
  std::string Properties() const;

 private:
  using Key = std::pair<int16_t, int32_t>;  // device, stream
  struct Stream {
    StreamLanes lanes;
    absl::flat_hash_set<int> named;  // lanes, in this part
  };
  // Of the latest event: most come in runs of one stream.
  struct Latest {
    Key key;
    Stream* stream = nullptr;  // only until another one is looked up
    int lane = kNone;          // that is named in this part
    static constexpr int kNone = -1;
  };

  Stream& StreamOf(Key key);
  void ForgetOneStream();
  int64_t PidOf(int16_t device) const;
  void NameDevice(int16_t device);
  void NameLane(Key key, Stream* stream, int lane);
  void WriteLaunch(const FunctionEvent& event, const DeviceLaunch& launch);
  void WriteArrow(const FunctionEvent& event, const DeviceLaunch& launch, int64_t tid);
  char* PutSlice(char* at, std::string_view category, std::string_view json_name, int64_t pid, int64_t tid, int64_t start_ns,
                 int64_t end_ns) const;
  void WriteUnit(const std::string& text);

  const int32_t pid_;
  const int64_t base_ns_;
  const int64_t start_ns_;
  const std::string process_name_;
  UnitBuffer* const out_;

  std::map<int16_t, DeviceInfo> devices_;
  absl::flat_hash_set<int16_t> named_devices_;  // in this part
  absl::flat_hash_map<Key, Stream> streams_;
  absl::flat_hash_map<Key, std::string> stream_names_;
  // Of streams that are forgotten: what they took up, so that what comes again keeps clear of it.
  int forgotten_lanes_ = 1;
  int64_t forgotten_until_ = INT64_MIN;
  Latest latest_;
  std::string name_;     // of the event that is being written, escaped
  std::string details_;  // and its args
};

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_DEVICE_ROWS_H_
