// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/stacks.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/torch/python_frames.h"
#include "adapters/torch/python_text.h"
#include "adapters/torch/thread_memory.h"

namespace ferret::torch_adapter {

// What a thread has written of a function. Addresses say little, since a function may be gone and its memory used again,
// as that of generated code is at once: so the characters that the text is made from are compared by their hash.
struct FrameText {
  const void* code;
  size_t characters;  // hash of the file's and the function's
  size_t file_length;
  size_t name_length;
  int32_t first_line;
  uint16_t length;  // 0: not to be shown
  char text[202];
};

namespace {

constexpr uint32_t kSlots = 128;

// Made once, by the first session that asks for stacks, and never freed. Release, acquired by writers.
std::atomic<const std::vector<std::string>*> g_folders{nullptr};

std::string_view WithoutFolder(std::string_view file) {
  for (const std::string& folder : *g_folders.load(std::memory_order_acquire)) {
    if (file.substr(0, folder.size()) == folder) return file.substr(folder.size());
  }
  return file;
}

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// PyTorch's profiler leaves out the same.
bool IsHidden(std::string_view frame) {
  static constexpr std::pair<std::string_view, std::string_view> kHidden[] = {
      {"autograd/__init__", "_make_grads"}, {"autograd/__init__", "backward"}, {"torch/tensor", "backward"}};
  for (const auto& [file, function] : kHidden) {
    if (Has(frame, file) && Has(frame, function)) return true;
  }
  return false;
}

// Empty if it is not to be shown.
std::string Describe(const PythonCode& code) {
  std::string file;
  AppendText(code.file, file);
  std::string frame(WithoutFolder(file));
  frame += '(';
  frame += std::to_string(code.first_line);
  frame += "): ";
  AppendText(code.name, frame);
  if (IsHidden(frame)) frame.clear();
  return frame;
}

size_t HashOf(const PythonText& text) {
  if (text.data == nullptr) return 0;
  return std::hash<std::string_view>()({static_cast<const char*>(text.data), text.length * (text.ascii ? 1 : text.kind)});
}

size_t HashOf(const PythonCode& code) { return HashOf(code.file) * 31 + HashOf(code.name); }

bool Matches(const FrameText& slot, const PythonCode& code, size_t characters) {
  return slot.code == code.object && slot.characters == characters && slot.file_length == code.file.length &&
         slot.name_length == code.name.length && slot.first_line == code.first_line;
}

FrameText* SlotOf(const void* code) {
  ThreadMemory* const memory = OwnMemory();
  if (memory == nullptr) return nullptr;
  if (memory->frames == nullptr) {
    memory->frames = static_cast<FrameText*>(std::calloc(kSlots, sizeof(FrameText)));
    if (memory->frames == nullptr) return nullptr;
  }
  return &memory->frames[reinterpret_cast<uintptr_t>(code) * 0x9e3779b97f4a7c15u >> 57];
}
static_assert(kSlots == 1u << (64 - 57), "SlotOf yields that many bits");

// False if there is no room.
bool WriteFrame(std::string_view frame, internal::DetailWriter& writer) {
  constexpr size_t kMaxLengthBytes = 3;
  if (writer.bytes().size() + kMaxLengthBytes + frame.size() > internal::kMaxDetailBytes) return false;
  if (!frame.empty()) writer.Text(frame);
  return true;
}

bool WriteCode(const PythonCode& code, internal::DetailWriter& writer) {
  FrameText* const slot = SlotOf(code.object);
  const size_t characters = HashOf(code);
  if (slot != nullptr && Matches(*slot, code, characters)) return WriteFrame({slot->text, slot->length}, writer);
  const std::string frame = Describe(code);
  if (slot != nullptr && frame.size() <= sizeof(slot->text)) {
    slot->code = code.object;
    slot->characters = characters;
    slot->file_length = code.file.length;
    slot->name_length = code.name.length;
    slot->first_line = code.first_line;
    slot->length = static_cast<uint16_t>(frame.size());
    std::memcpy(slot->text, frame.data(), frame.size());
  }
  return WriteFrame(frame, writer);
}

}  // namespace

std::string PrepareStacks() {
  std::string reason = FindPython();
  if (reason.empty() && g_folders.load(std::memory_order_relaxed) == nullptr) {
    g_folders.store(new std::vector<std::string>(PythonImportFolders()), std::memory_order_release);
  }
  return reason;
}

bool WriteStack(internal::DetailWriter& writer) {
  if (g_folders.load(std::memory_order_relaxed) == nullptr) return true;
  FrameWalk walk;
  PythonCode code;
  if (!walk.Next(code)) return true;
  bool complete = true;
  writer.BeginItem(internal::DetailKind::kStack);
  try {
    int frames = 0;
    do {
      complete = frames++ < kMaxFrames && WriteCode(code, writer);
    } while (complete && walk.Next(code));
  } catch (...) {  // no memory for a text
    complete = false;
  }
  writer.EndItem();
  return complete;
}

}  // namespace ferret::torch_adapter
