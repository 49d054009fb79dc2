// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret recover` and `ferret inspect` as a fuzz target: any bytes give contents that can be replayed, or an error. What
// is replayed is what an exporter may be given, and no more than the reader has found; what is shown of it is whole lines,
// and one value in JSON.

#include <rapidjson/document.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/crash/crash_reader.h"
#include "runtime/session/crash_session.h"
#include "tests/fuzz/property.h"
#include "tools/crash_replay.h"
#include "tools/inspect_json.h"
#include "tools/inspect_report.h"
#include "tools/inspect_text.h"

namespace {

using ferret::internal::CrashContents;

// Looks at everything that exporters read.
class CheckingExporter {
 public:
  absl::Status Export(const ferret::EventBatch& batch) {
    FUZZ_PROPERTY(batch.sequence == ++batches_);
    for (const ferret::ThreadInfo& thread : batch.threads) threads_.insert(thread.thread);
    for (const ferret::FunctionEvent& event : batch.events) {
      // No id twice, and nothing inside of itself.
      FUZZ_PROPERTY(event.id > 0 && ids_.insert(event.id).second);
      FUZZ_PROPERTY(event.parent_id >= 0 && event.parent_id < event.id);
      FUZZ_PROPERTY(event.start_ns >= 0 && event.start_ns <= event.end_ns);
      FUZZ_PROPERTY(threads_.count(event.thread) == 1);
      Read(event.name);
      sum_ = sum_ + event.ToString().size();
      truncated_ += event.is_truncated;
    }
    for (const ferret::InstantEvent& event : batch.instants) {
      FUZZ_PROPERTY(event.time_ns >= 0 && threads_.count(event.thread) == 1);
      Read(event.name);
    }
    for (const ferret::MemoryEvent& event : batch.memory) FUZZ_PROPERTY(event.time_ns >= 0 && event.scope_id >= 0);
    for (const ferret::ForwardBackwardLink& link : batch.links) {
      FUZZ_PROPERTY(link.flow_id > 0 && link.forward_id > 0 && link.backward_id > 0);
    }
    events_ += batch.count();
    links_ += batch.links.size();
    return absl::OkStatus();
  }

  void ExpectSame(const ferret::ReplayCounts& counts) const {
    FUZZ_PROPERTY(counts.events == events_ && counts.truncated == truncated_ && counts.links == links_);
  }

 private:
  void Read(std::string_view text) {
    for (const char c : text) sum_ = sum_ + static_cast<unsigned char>(c);
  }

  std::set<uint32_t> threads_;
  std::set<int64_t> ids_;
  uint64_t batches_ = 0;
  uint64_t events_ = 0;
  uint64_t truncated_ = 0;
  uint64_t links_ = 0;
  volatile uint64_t sum_ = 0;
};

ferret::ReplayCounts Replay(CrashContents* contents, std::optional<uint64_t> settled, bool with_flops) {
  CheckingExporter exporter;
  ferret::ReplayCounts counts;
  const absl::Status status = ReplayCrash(
      contents, settled, with_flops, [&](const ferret::EventBatch& batch) { return exporter.Export(batch); }, &counts);
  FUZZ_PROPERTY(status.ok());
  exporter.ExpectSame(counts);
  return counts;
}

// Of a process that is dead, and of whose threads the kernel tells nothing.
void Inspect(CrashContents* contents) {
  ferret::InspectedProcess process;
  FUZZ_PROPERTY(InspectContents(contents, 3, "", 0, &process));
  const std::string text = InspectText(process, true);
  FUZZ_PROPERTY(!text.empty() && text.back() == '\n');
  for (const char c : text) FUZZ_PROPERTY(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  const std::string json = InspectJson(process);
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(json.data(), json.size());
  FUZZ_PROPERTY(!document.HasParseError() && document["threads"].Size() == process.threads.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto contents = CrashContents::Read(bytes);
  if (!contents.ok()) {
    // Without a reason nobody could do anything about it.
    FUZZ_PROPERTY(!contents.status().message().empty());
    return 0;
  }
  FUZZ_PROPERTY(CrashContents::ReadStamp(bytes).ok());
  for (const std::string& note : (*contents)->Notes()) FUZZ_PROPERTY(!note.empty() && note.find('\n') == note.npos);
  // What says who recorded says it again when it is written again.
  const ferret::CrashSession session = ferret::ParseCrashSession((*contents)->session());
  const std::string text = CrashSessionText(session);
  FUZZ_PROPERTY(CrashSessionText(ferret::ParseCrashSession(text)) == text);

  uint64_t found = (*contents)->records();
  for (const auto& [number, thread] : (*contents)->threads()) found += thread.carried.size();
  const auto& outputs = (*contents)->outputs();
  const ferret::ReplayCounts all = Replay(contents->get(), std::nullopt, true);
  const ferret::ReplayCounts rest = Replay(contents->get(), outputs.empty() ? 1 : outputs[0].batch, false);
  FUZZ_PROPERTY(all.events <= found);
  FUZZ_PROPERTY(rest.events <= all.events);
  Inspect(contents->get());
  return 0;
}
