// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CrashContents: the chunks, and the records in them up to the first one that cannot be.

#include <algorithm>
#include <cstring>
#include <utility>

#include "ferret/record_scope.h"
#include "runtime/crash/crash_bounds.h"
#include "runtime/crash/crash_reader.h"

namespace ferret::internal {
namespace {

uint32_t LeastBytes(RecordType type) {
  switch (type) {
    case RecordType::kOpBegin: return kOpBeginBytes;
    case RecordType::kRemoteEnd: return kRemoteEndBytes;
    case RecordType::kCounter: return kCounterBytes;
    case RecordType::kStep: return kStepBytes;
    case RecordType::kLoss: return kLossBytes;
    case RecordType::kMemory: return kMemoryBytes;
    case RecordType::kDeviceEnd: return kDeviceEndBytes;
    default: return 16;  // header and ticks: all the others, and those that are not known
  }
}

bool HasName(RecordType type) {
  return type == RecordType::kScopeBegin || type == RecordType::kOpBegin || type == RecordType::kInstant ||
         type == RecordType::kCounter || type == RecordType::kThreadName;
}

uint64_t WordAt(const char* record, uint32_t index) {
  uint64_t word;
  std::memcpy(&word, record + 8 * index, 8);
  return word;
}

void SetWord(char* record, uint32_t index, uint64_t word) { std::memcpy(record + 8 * index, &word, 8); }

}  // namespace

void CrashContents::ReadChunks(std::string_view part) {
  chunks_ = part.size() / chunk_bytes_;
  for (ChunkCopy& copy : CopyChunks(part, chunk_bytes_)) {
    SavedChunk saved;
    saved.copy = std::move(copy);
    saved.chunk = saved.copy.chunk;
    if (!ReadChunk(&saved)) {
      ++chunks_bad_;
      continue;
    }
    if (saved.chunk->epoch < first_epoch_) {
      ++chunks_late_;
      continue;
    }
    read_chunks_[saved.chunk->thread].push_back(std::move(saved));
  }
  const auto sequence = [](const SavedChunk& chunk) { return chunk.chunk->sequence; };
  for (auto& [number, chunks] : read_chunks_) {
    std::stable_sort(chunks.begin(), chunks.end(),
                     [&](const SavedChunk& a, const SavedChunk& b) { return sequence(a) < sequence(b); });
    const auto end = std::unique(chunks.begin(), chunks.end(), [&](const SavedChunk& a, const SavedChunk& b) {
      return sequence(a) == sequence(b);
    });
    chunks_twice_ += static_cast<uint64_t>(chunks.end() - end);
    chunks.erase(end, chunks.end());
  }
}

bool CrashContents::ReadChunk(SavedChunk* saved) {
  Chunk* const chunk = saved->chunk;
  const uint32_t end = chunk->write_offset.load(std::memory_order_relaxed);
  if (chunk->magic != kChunkMagic || chunk->version != kRecordFormatVersion ||
      chunk->header_bytes != kChunkHeaderBytes || chunk->chunk_bytes != chunk_bytes_ || chunk->thread == 0 ||
      chunk->owner.load(std::memory_order_relaxed) != chunk->thread ||
      chunk->pid != static_cast<uint32_t>(stamp_.pid) || end < kChunkHeaderBytes || end > chunk_bytes_ || end % 8 != 0) {
    return false;
  }
  if (chunk->first_id >= static_cast<uint64_t>(kMostId)) chunk->first_id = 0;
  // Killed between naming them and saying so: chunks that were not read yet must not get the same ids.
  next_id_ = std::max(next_id_, static_cast<int64_t>(chunk->first_id) + chunk_bytes_);
  uint32_t offset = kChunkHeaderBytes;
  while (offset < end) {
    const uint32_t length = CheckRecord(chunk->bytes() + offset, end - offset);
    if (length == 0) break;
    last_ticks_ = std::max(last_ticks_, WordAt(chunk->bytes() + offset, 1));
    ++records_;
    offset += length;
  }
  bytes_skipped_ += end - offset;
  saved->end = offset;
  return true;
}

uint32_t CrashContents::CheckRecord(char* record, uint32_t room) {
  if (room < 16) return 0;
  const uint64_t header = WordAt(record, 0);
  const uint32_t length = RecordBytes(header);
  const RecordType type = TypeOf(header);
  uint8_t flags = FlagsOf(header);
  uint32_t payload = PayloadOf(header);
  if (length < LeastBytes(type) || length > room || !IsTime(WordAt(record, 1))) return 0;
  // Nobody is there who could time them.
  const bool is_mark = type == RecordType::kDeviceBegin || type == RecordType::kDeviceEnd;
  if (is_mark) ++device_marks_;
  constexpr RecordType kNothing{255};
  switch (type) {
    case RecordType::kOpBegin:
      if ((WordAt(record, 3) >> 32 & 0xff) > static_cast<uint64_t>(RecordScope::kStaticRuntimeModel)) return 0;
      break;
    case RecordType::kLoss:
      if (payload >= kLossReasonCount) return 0;
      if (!IsTime(WordAt(record, 3))) SetWord(record, 3, WordAt(record, 1));
      break;
    case RecordType::kMemory: {
      const int64_t bytes = static_cast<int64_t>(WordAt(record, 3));
      if (bytes > int64_t{1} << 48 || bytes < -(int64_t{1} << 48)) return 0;
      break;
    }
    default:
      break;
  }
  if (HasName(type)) {
    if ((flags & kInlineName) != 0) {
      payload = 0;
    } else {
      payload = names_.IdOf(payload);
    }
  }
  SetWord(record, 0, RecordHeader(is_mark ? kNothing : type, length, flags, payload));
  return length;
}

}  // namespace ferret::internal
