// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/crash/crash_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/crash/crash_bounds.h"

namespace ferret::internal {
namespace {

// The header, if it is one of this version and of a file of that size.
absl::Status ReadHeader(std::string_view bytes, CrashHeader* header) {
  if (bytes.size() < sizeof(CrashHeader)) return absl::InvalidArgumentError("too short for a crash file");
  CopyFrom(bytes, 0, header);
  if (std::memcmp(header->magic, kCrashMagic, sizeof(kCrashMagic)) != 0) {
    return absl::InvalidArgumentError("not a crash file of Ferret's");
  }
  if (header->byte_order != kCrashByteOrder) return absl::InvalidArgumentError("of a machine with another byte order");
  if (header->version != kCrashVersion || header->header_bytes != sizeof(CrashHeader) ||
      header->record_version != kRecordFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat("of another version of Ferret: format ", header->version, ".",
                                                   header->record_version, ", not ", kCrashVersion, ".",
                                                   kRecordFormatVersion));
  }
  for (const CrashHeader::Part& part : header->parts) {
    if (part.offset > bytes.size() || part.bytes > bytes.size() - part.offset) {
      return absl::InvalidArgumentError("cut short, or its header is damaged");
    }
  }
  return absl::OkStatus();
}

std::string_view PartOf(std::string_view bytes, const CrashHeader& header, CrashPart part) {
  const CrashHeader::Part& place = header.parts[static_cast<size_t>(part)];
  return bytes.substr(place.offset, place.bytes);
}

}  // namespace

absl::StatusOr<ProcessStamp> CrashContents::ReadStamp(std::string_view bytes) {
  CrashHeader header;
  if (absl::Status status = ReadHeader(bytes, &header); !status.ok()) return status;
  return ProcessStamp{header.pid, header.start_time, TextOf(header.boot_id, sizeof(header.boot_id))};
}

absl::StatusOr<std::unique_ptr<CrashContents>> CrashContents::Read(std::string_view bytes) {
  CrashHeader header;
  if (absl::Status status = ReadHeader(bytes, &header); !status.ok()) return status;
  if (header.chunk_bytes < kMinChunkBytes || header.chunk_bytes > kMaxChunkBytes || header.chunk_bytes % 64 != 0) {
    return absl::InvalidArgumentError("its header is damaged: chunks of an impossible size");
  }
  const auto part = [&](CrashPart which) { return PartOf(bytes, header, which); };
  std::unique_ptr<CrashContents> contents(new CrashContents);
  contents->stamp_ = {header.pid, header.start_time, TextOf(header.boot_id, sizeof(header.boot_id))};
  contents->chunk_bytes_ = header.chunk_bytes;
  if (!contents->ReadClock(part(CrashPart::kClock))) {
    return absl::InvalidArgumentError("its clock is damaged: no time is known");
  }
  const auto within = [](uint64_t value, int64_t otherwise) {
    return value >= 1 && value < static_cast<uint64_t>(kMostId) ? static_cast<int64_t>(value) : otherwise;
  };
  contents->next_id_ = within(header.next_id.load(std::memory_order_relaxed), 1);
  contents->next_flow_ = within(header.next_flow.load(std::memory_order_relaxed), 1);
  contents->last_batch_ = header.last_batch.load(std::memory_order_relaxed);
  contents->steps_ = header.last_step.load(std::memory_order_relaxed);
  contents->step_end_ns_ = std::clamp<int64_t>(header.last_step_end_ns.load(std::memory_order_relaxed), 0, kMostNs);
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    contents->lost_.by_reason[i] = std::min(header.lost[i].load(std::memory_order_relaxed), kMostCount);
  }

  const std::string_view session = part(CrashPart::kSession);
  uint32_t size = 0;
  if (session.size() >= sizeof(size)) {
    CopyFrom(session, 0, &size);
    contents->session_ = std::string(session.substr(sizeof(size), std::min<uint64_t>(size, session.size() - sizeof(size))));
  }
  contents->windows_ = std::make_unique<Windows>();
  contents->ReadWindows(part(CrashPart::kWindows));
  contents->ReadOutputs(part(CrashPart::kOutputs), std::min(header.outputs, kCrashOutputs));

  contents->names_.Open(part(CrashPart::kNames), header.name_entries);
  contents->first_epoch_ = header.first_epoch;
  contents->first_window_ = header.first_window;
  contents->ReadJournal(part(CrashPart::kJournal), header.journal_begin.load(std::memory_order_relaxed),
                        header.journal_end.load(std::memory_order_relaxed));
  contents->ReadChunks(part(CrashPart::kChunks));
  contents->ReadThreads(part(CrashPart::kThreads), part(CrashPart::kCarried), part(CrashPart::kChunks));
  contents->CheckIds();
  contents->ReadSteps(header);
  contents->names_.Close();
  return contents;
}

bool CrashContents::ReadClock(std::string_view part) {
  constexpr uint64_t kBefore = offsetof(CrashClock, segments);
  if (part.size() < sizeof(CrashClock)) return false;
  uint64_t count = 0;
  CopyFrom(part, 0, &count);
  CopyFrom(part, offsetof(CrashClock, ns_per_tick), &ns_per_tick_);
  if (!std::isfinite(ns_per_tick_) || ns_per_tick_ <= 0) ns_per_tick_ = 1;
  const uint64_t kept = std::min<uint64_t>(count, kCrashSegments);
  for (uint64_t i = count - kept; i < count; ++i) {
    CrashClock::Segment segment;
    CopyFrom(part, kBefore + i % kCrashSegments * sizeof(segment), &segment);
    if (segment.target_ns < 0 || segment.target_ns > kMostNs || segment.slope > kMostSlope) continue;
    // Where the source goes back the counter was reset: nothing before that counts.
    if (!segments_.empty() && segment.source < segments_.back().source) segments_.clear();
    if (!segments_.empty() && segment.target_ns < segments_.back().target_ns) continue;
    // What a segment says at its end must be a time, too.
    if (!segments_.empty() && segments_.back().slope != 0 &&
        segment.source - segments_.back().source > (kMostNsAfter << 8) / (segments_.back().slope >> 24 | 1)) {
      segments_.clear();
    }
    segments_.push_back({segment.source, segment.target_ns, segment.slope});
  }
  if (segments_.empty()) return false;
  const ClockMap::Segment& last = segments_.back();
  const uint64_t after = (kMostNsAfter << 8) / (last.slope >> 24 | 1);
  last_possible_ = last.source > UINT64_MAX - after ? UINT64_MAX : last.source + after;
  first_possible_ = segments_.front().source - std::min(segments_.front().source, kMostTicksBefore);
  return true;
}

void CrashContents::ReadWindows(std::string_view part) {
  if (part.size() < sizeof(CrashWindows)) return;
  uint32_t current = 0;
  CopyFrom(part, 0, &current);
  for (uint32_t window = current - (Windows::kRemembered - 1);; ++window) {
    uint64_t end = 0;
    CopyFrom(part, offsetof(CrashWindows, ends) + 8 * (window % Windows::kRemembered), &end);
    windows_->Remember(window, end != Windows::kForgotten && !IsTime(end) ? Windows::kNotEnded : end);
    if (window == current) break;
  }
}

void CrashContents::ReadOutputs(std::string_view part, uint32_t count) {
  for (uint32_t i = 0; i < count && (i + 1) * sizeof(CrashOutput) <= part.size(); ++i) {
    const uint64_t at = i * sizeof(CrashOutput);
    uint64_t current = 0;
    CopyFrom(part, at + offsetof(CrashOutput, current), &current);
    CrashOutput::Version version;
    CopyFrom(part, at + (current & 1) * sizeof(version), &version);
    Output output;
    output.batch = version.batch.load(std::memory_order_relaxed);
    if (output.batch != Output::kDisabled) newest_batch_ = std::max(newest_batch_, output.batch);
    output.bytes = version.bytes;
    output.events = std::min(version.events, kMostCount);
    output.path = TextOf(version.path, sizeof(version.path));
    output.final_path = TextOf(version.final_path, sizeof(version.final_path));
    if (output.path.empty() || output.final_path.empty()) output.path = output.final_path = "";
    outputs_.push_back(std::move(output));
  }
}

void CrashContents::ReadJournal(std::string_view part, uint64_t begin, uint64_t end) {
  // A ring as large as its part.
  const uint64_t entries = part.size() / sizeof(CrashEntry);
  if (end - begin > entries) return;
  for (; begin != end; ++begin) {
    CrashEntry entry;
    CopyFrom(part, begin % entries * sizeof(entry), &entry);
    newest_batch_ = std::max(newest_batch_, entry.batch);
    uint64_t& position = journal_[entry.thread][entry.batch];
    position = std::max(position, entry.position);
  }
}

uint64_t CrashContents::PositionAt(uint32_t thread, uint64_t batch) const {
  const auto saved = threads_.find(thread);
  uint64_t position = saved == threads_.end() ? 0 : saved->second.position;
  const auto journal = journal_.find(thread);
  if (journal == journal_.end()) return position;
  for (const auto& [entry_batch, entry_position] : journal->second) {
    if (entry_batch <= batch) position = std::max(position, entry_position);
  }
  return position;
}

std::vector<std::string> CrashContents::Notes() const {
  std::vector<std::string> notes;
  notes.push_back(absl::StrCat("found ", records_, " records of ", threads_.size(), threads_.size() == 1 ? " thread" : " threads",
                               " in ", chunks_used_, chunks_used_ == 1 ? " chunk" : " chunks"));
  const auto skipped = [&notes](uint64_t count, const char* what) {
    if (count != 0) notes.push_back(absl::StrCat("skipped ", count, what));
  };
  skipped(bytes_skipped_, " bytes behind a record that cannot be one");
  skipped(chunks_bad_, " chunks whose header is damaged");
  skipped(chunks_late_, " chunks of an earlier session");
  skipped(chunks_twice_, " chunks with the number of another one");
  skipped(scopes_bad_, " open scopes that cannot be");
  skipped(device_marks_, " marks on devices, which nobody timed");
  if (scopes_not_kept_ != 0) {
    notes.push_back(absl::StrCat("up to ", scopes_not_kept_, " open scopes were not kept: there were too many"));
  }
  if (chunks_missing_ != 0) notes.push_back(absl::StrCat(chunks_missing_, " chunks are missing"));
  if (chunks_renumbered_ != 0) notes.push_back(absl::StrCat(chunks_renumbered_, " chunks have ids that others have, too"));
  if (names_.missing() != 0) notes.push_back(absl::StrCat(names_.missing(), " names were not found"));
  if (names_.cut() != 0) notes.push_back(absl::StrCat(names_.cut(), " names are too long and were cut"));
  return notes;
}

}  // namespace ferret::internal
