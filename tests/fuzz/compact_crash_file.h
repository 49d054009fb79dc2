// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A crash file without its empty places: the same parts with the same contents, but only as much of each as is in use,
// and not at pages. A few kilobytes of a real file's megabytes, of which every byte matters, so that changing any is worth
// while.

#ifndef FERRET_TESTS_FUZZ_COMPACT_CRASH_FILE_H_
#define FERRET_TESTS_FUZZ_COMPACT_CRASH_FILE_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/crash/crash_layout.h"
#include "runtime/record/chunk.h"

namespace ferret::fuzz {

// `file` is a whole one that its writer made.
inline std::string CompactCrashFile(std::string_view file) {
  using internal::CrashPart;
  internal::CrashHeader header;
  std::memcpy(static_cast<void*>(&header), file.data(), sizeof(header));
  std::string compact(sizeof(header), '\0');
  const auto part = [&](CrashPart which) -> internal::CrashHeader::Part& {
    return header.parts[static_cast<size_t>(which)];
  };
  // Elements up to the last one that is not all zeros.
  const auto used = [&](CrashPart which, uint64_t element) {
    const std::string_view bytes = file.substr(part(which).offset, part(which).bytes);
    const size_t last = bytes.find_last_not_of('\0');
    return last == bytes.npos ? 0 : (last / element + 1) * element;
  };
  const auto append = [&](CrashPart which, uint64_t bytes) {
    compact.resize((compact.size() + 7) / 8 * 8);
    const uint64_t offset = compact.size();
    compact.append(file.substr(part(which).offset, bytes));
    part(which) = {offset, bytes};
  };
  // These have a fixed size, but zeros are all that follows what is in use: they may lie over what comes behind them.
  const uint64_t clock_bytes = part(CrashPart::kClock).bytes;
  const uint64_t windows_bytes = part(CrashPart::kWindows).bytes;
  append(CrashPart::kClock, used(CrashPart::kClock, 8));
  append(CrashPart::kWindows, used(CrashPart::kWindows, 8) + 8);
  append(CrashPart::kSession, used(CrashPart::kSession, 1));
  append(CrashPart::kThreads, used(CrashPart::kThreads, sizeof(internal::CrashThread)));
  append(CrashPart::kJournal, 0);
  append(CrashPart::kCarried, used(CrashPart::kCarried, sizeof(internal::CarriedBlock)));
  append(CrashPart::kOutputs, used(CrashPart::kOutputs, sizeof(internal::CrashOutput)));

  // The ring starts anew.
  const uint64_t ring = internal::kCrashEntries;
  part(CrashPart::kJournal) = {compact.size(), 0};
  const std::string_view entries = file.substr(reinterpret_cast<const internal::CrashHeader*>(file.data())
                                                   ->parts[static_cast<size_t>(CrashPart::kJournal)].offset);
  const uint64_t begin = header.journal_begin.load();
  const uint64_t count = header.journal_end.load() - begin;
  for (uint64_t i = 0; i < count; ++i) {
    compact.append(entries.substr((begin + i) % ring * sizeof(internal::CrashEntry), sizeof(internal::CrashEntry)));
  }
  part(CrashPart::kJournal).bytes = count * sizeof(internal::CrashEntry);
  header.journal_begin.store(0);
  header.journal_end.store(count);

  // The index of the names as far as it is in use, and their texts right behind it.
  struct Entry {
    uint32_t offset;
    uint32_t length;
  };
  const std::string_view names = file.substr(part(CrashPart::kNames).offset, part(CrashPart::kNames).bytes);
  uint32_t last = 0;
  uint64_t texts = 0;
  for (uint32_t id = 1; id < header.name_entries; ++id) {
    Entry entry;
    std::memcpy(&entry, names.data() + id * sizeof(entry), sizeof(entry));
    if (entry.length == 0) continue;
    last = id;
    texts = std::max<uint64_t>(texts, entry.offset + entry.length);
  }
  const uint64_t offset = compact.size();
  compact.append(names.substr(0, (last + 1) * sizeof(Entry)));
  compact.append(names.substr(header.name_entries * sizeof(Entry), texts));
  part(CrashPart::kNames) = {offset, compact.size() - offset};
  header.name_entries = last + 1;

  // Chunks that are in use, all of a size that is enough for the longest of them.
  const std::string_view chunks = file.substr(part(CrashPart::kChunks).offset, part(CrashPart::kChunks).bytes);
  std::vector<std::string> kept;
  uint32_t size = internal::kMinChunkBytes;
  for (uint64_t at = 0; at < chunks.size(); at += header.chunk_bytes) {
    const auto number = [&](uint64_t place) {
      uint32_t value;
      std::memcpy(&value, chunks.data() + at + place, sizeof(value));
      return value;
    };
    if (number(offsetof(internal::Chunk, owner)) == internal::kOwnerFree) continue;
    kept.emplace_back(chunks.substr(at, header.chunk_bytes));
    size = std::max(size, (number(offsetof(internal::Chunk, write_offset)) + 63) / 64 * 64);
  }
  compact.resize((compact.size() + 7) / 8 * 8);
  part(CrashPart::kChunks) = {compact.size(), size * kept.size()};
  for (std::string& chunk : kept) {
    chunk.resize(size);
    std::memcpy(&chunk[offsetof(internal::Chunk, chunk_bytes)], &size, sizeof(size));
    compact.append(chunk);
  }
  header.chunk_bytes = size;
  part(CrashPart::kClock).bytes = clock_bytes;
  part(CrashPart::kWindows).bytes = windows_bytes;
  // Small files are padded, so that what may lie over what is behind it does.
  compact.resize(std::max({compact.size(), part(CrashPart::kClock).offset + clock_bytes,
                           part(CrashPart::kWindows).offset + windows_bytes}));
  std::memcpy(compact.data(), static_cast<const void*>(&header), sizeof(header));
  return compact;
}

}  // namespace ferret::fuzz

#endif  // FERRET_TESTS_FUZZ_COMPACT_CRASH_FILE_H_
