// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/python_frames.h"

#include <atomic>
#include <cstring>
#include <string_view>

#include "adapters/torch/python_api.h"

namespace ferret::torch_adapter {
namespace {

// Where things lie in CPython's structures, in bytes, on 64-bit machines.
struct Layout {
  const char* version;  // how Py_GetVersion begins
  size_t thread_cframe;  // PyThreadState::cframe, which has the innermost frame at …
  size_t cframe_frame;
  size_t frame_code;  // _PyInterpreterFrame
  size_t frame_previous;
  size_t code_first_line;  // PyCodeObject
  size_t code_file;
  size_t code_name;
  size_t text_length;  // PyASCIIObject and PyCompactUnicodeObject
  size_t text_state;
  size_t text_ascii_data;
  size_t text_other_data;
};

constexpr Layout kLayouts[] = {
    {"3.11.", 56, 8, 32, 48, 72, 112, 120, 16, 32, 48, 72},
};

PythonApi g_api;
// Release when everything above is complete, acquired by every walk. Null: frames cannot be read.
std::atomic<const Layout*> g_layout{nullptr};

const char* PointerAt(const char* object, size_t offset) {
  const char* pointer;
  std::memcpy(&pointer, object + offset, sizeof(pointer));
  return pointer;
}

PythonText TextAt(const char* owner, size_t offset, const Layout& layout) {
  const char* const object = PointerAt(owner, offset);
  PythonText text;
  if (object == nullptr) return text;
  uint32_t state;
  std::memcpy(&state, object + layout.text_state, sizeof(state));
  const bool compact = (state >> 5 & 1) != 0;
  text.object = object;
  text.kind = static_cast<uint8_t>(state >> 2 & 7);
  text.ascii = (state >> 6 & 1) != 0;
  std::memcpy(&text.length, object + layout.text_length, sizeof(text.length));
  // Names that the compiler makes are compact; others keep their characters elsewhere.
  if (compact) text.data = object + (text.ascii ? layout.text_ascii_data : layout.text_other_data);
  return text;
}

PythonCode CodeAt(const char* object, const Layout& layout) {
  PythonCode code;
  code.object = object;
  code.file = TextAt(object, layout.code_file, layout);
  code.name = TextAt(object, layout.code_name, layout);
  std::memcpy(&code.first_line, object + layout.code_first_line, sizeof(code.first_line));
  return code;
}

const char* InnermostFrame(const Layout& layout) {
  // False from the beginning of Python's shutdown, which frees the states of its threads.
  if (g_api.IsInitialized() == 0) return nullptr;
  const char* const thread = g_api.GilThisThreadState();
  if (thread == nullptr) return nullptr;
  const char* const cframe = PointerAt(thread, layout.thread_cframe);
  return cframe == nullptr ? nullptr : PointerAt(cframe, layout.cframe_frame);
}

bool NextFrame(const char*& frame, PythonCode& code, const Layout& layout) {
  while (frame != nullptr) {
    const char* const object = PointerAt(frame, layout.frame_code);
    frame = PointerAt(frame, layout.frame_previous);
    constexpr size_t kObjectType = 8;
    if (object == nullptr || PointerAt(object, kObjectType) != g_api.code_type) continue;
    code = CodeAt(object, layout);
    return true;
  }
  return false;
}

// Whether the calling thread's frames read the same in both ways. Holds the GIL.
bool LayoutHolds(const Layout& layout) {
  Object* frame = g_api.GetFrame();
  if (frame == nullptr) return false;
  bool same = true;
  bool owned = false;
  const char* at = InnermostFrame(layout);
  while (frame != nullptr && same) {
    PythonCode code;
    std::string file;
    std::string name;
    same = NextFrame(at, code, layout);
    if (same) {
      AppendText(code.file, file);
      AppendText(code.name, name);
      Object* const expected = g_api.FrameGetCode(frame);
      same = code.object == expected && file == Attribute(g_api, expected, "co_filename") &&
             name == Attribute(g_api, expected, "co_name") &&
             std::to_string(code.first_line) == Attribute(g_api, expected, "co_firstlineno");
      g_api.DecRef(expected);
    }
    Object* const back = g_api.FrameGetBack(frame);
    if (owned) g_api.DecRef(frame);
    frame = back;
    owned = true;
  }
  if (frame != nullptr && owned) g_api.DecRef(frame);
  PythonCode beyond;
  return same && !NextFrame(at, beyond, layout);
}

}  // namespace

std::string FindPython() {
  if (g_layout.load(std::memory_order_acquire) != nullptr) return "";
  if (!FindApi(g_api)) return "this process has no Python";
  if (g_api.IsInitialized() == 0) return "Python has not been started";
  const std::string_view version(g_api.GetVersion());
  for (const Layout& layout : kLayouts) {
    if (version.substr(0, std::strlen(layout.version)) != layout.version) continue;
    const HoldGil gil(g_api);
    if (!LayoutHolds(layout)) return "the session was not started by Python code, or its frames are not as expected";
    g_layout.store(&layout, std::memory_order_release);
    return "";
  }
  return "they need CPython 3.11, and this is " + std::string(version.substr(0, version.find(' ')));
}

std::vector<std::string> PythonImportFolders() { return ImportFolders(g_api); }

FrameWalk::FrameWalk() {
  const Layout* const layout = g_layout.load(std::memory_order_acquire);
  if (layout != nullptr) frame_ = InnermostFrame(*layout);
}

bool FrameWalk::Next(PythonCode& code) {
  return NextFrame(frame_, code, *g_layout.load(std::memory_order_relaxed));
}

}  // namespace ferret::torch_adapter
