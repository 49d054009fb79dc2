// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/python_frames.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <system_error>

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

using Object = void;  // PyObject and what begins like one

// Of Python's C API, which is looked up at run time: the adapter must load into a process that has no Python.
struct Api {
  const char* (*GetVersion)();
  int (*IsInitialized)();
  int (*GilEnsure)();
  void (*GilRelease)(int);
  const char* (*GilThisThreadState)();
  Object* (*GetFrame)();  // borrowed
  Object* (*FrameGetCode)(Object*);
  Object* (*FrameGetBack)(Object*);
  Object* (*GetAttribute)(Object*, const char*);
  const char* (*AsUtf8)(Object*, std::ptrdiff_t*);
  long (*AsLong)(Object*);
  Object* (*SysGetObject)(const char*);      // borrowed
  std::ptrdiff_t (*ListSize)(Object*);
  Object* (*ListGetItem)(Object*, std::ptrdiff_t);  // borrowed
  void (*DecRef)(Object*);
  void (*ErrClear)();
  const void* code_type;
};

Api g_api;
// Release when everything above is complete, acquired by every walk. Null: frames cannot be read.
std::atomic<const Layout*> g_layout{nullptr};

template <typename Function>
bool Find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

bool FindApi(Api& api) {
  api.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  return api.code_type != nullptr && Find("Py_GetVersion", api.GetVersion) &&
         Find("Py_IsInitialized", api.IsInitialized) && Find("PyGILState_Ensure", api.GilEnsure) &&
         Find("PyGILState_Release", api.GilRelease) &&
         Find("PyGILState_GetThisThreadState", api.GilThisThreadState) && Find("PyEval_GetFrame", api.GetFrame) &&
         Find("PyFrame_GetCode", api.FrameGetCode) && Find("PyFrame_GetBack", api.FrameGetBack) &&
         Find("PyObject_GetAttrString", api.GetAttribute) && Find("PyUnicode_AsUTF8AndSize", api.AsUtf8) &&
         Find("PyLong_AsLong", api.AsLong) && Find("PySys_GetObject", api.SysGetObject) &&
         Find("PyList_Size", api.ListSize) && Find("PyList_GetItem", api.ListGetItem) &&
         Find("Py_DecRef", api.DecRef) && Find("PyErr_Clear", api.ErrClear);
}

class HoldGil {
 public:
  HoldGil() : state_(g_api.GilEnsure()) {}
  ~HoldGil() { g_api.GilRelease(state_); }
  HoldGil(const HoldGil&) = delete;
  HoldGil& operator=(const HoldGil&) = delete;

 private:
  const int state_;
};

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

// The attribute as text; a number as its digits.
std::string Attribute(Object* object, const char* name) {
  Object* const value = g_api.GetAttribute(object, name);
  std::string text;
  if (value != nullptr) {
    std::ptrdiff_t length = 0;
    const char* const characters = g_api.AsUtf8(value, &length);
    if (characters != nullptr) {
      text.assign(characters, static_cast<size_t>(length));
    } else {
      g_api.ErrClear();
      text = std::to_string(g_api.AsLong(value));
    }
    g_api.DecRef(value);
  }
  g_api.ErrClear();
  return text;
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
      same = code.object == expected && file == Attribute(expected, "co_filename") &&
             name == Attribute(expected, "co_name") &&
             std::to_string(code.first_line) == Attribute(expected, "co_firstlineno");
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

void AppendUtf8(uint32_t character, std::string& out) {
  const auto add = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xc0 | character >> 6);
    add(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    add(0xe0 | character >> 12);
    add(0x80 | (character >> 6 & 0x3f));
    add(0x80 | (character & 0x3f));
  } else {
    add(0xf0 | character >> 18);
    add(0x80 | (character >> 12 & 0x3f));
    add(0x80 | (character >> 6 & 0x3f));
    add(0x80 | (character & 0x3f));
  }
}

}  // namespace

void AppendText(const PythonText& text, std::string& out) {
  const auto* const bytes = static_cast<const char*>(text.data);
  if (bytes == nullptr) {
    out += "<unknown>";
  } else if (text.ascii) {
    out.append(bytes, text.length);
  } else {
    for (size_t i = 0; i < text.length; ++i) {
      uint32_t character = 0;  // little endian, as the machines that PyTorch runs on
      std::memcpy(&character, bytes + i * text.kind, text.kind <= sizeof(character) ? text.kind : 0);
      AppendUtf8(character, out);
    }
  }
}

std::string FindPython() {
  if (g_layout.load(std::memory_order_acquire) != nullptr) return "";
  if (!FindApi(g_api)) return "this process has no Python";
  if (g_api.IsInitialized() == 0) return "Python has not been started";
  const std::string_view version(g_api.GetVersion());
  for (const Layout& layout : kLayouts) {
    if (version.substr(0, std::strlen(layout.version)) != layout.version) continue;
    const HoldGil gil;
    if (!LayoutHolds(layout)) return "the session was not started by Python code, or its frames are not as expected";
    g_layout.store(&layout, std::memory_order_release);
    return "";
  }
  return "they need CPython 3.11, and this is " + std::string(version.substr(0, version.find(' ')));
}

std::vector<std::string> ImportFolders() {
  std::vector<std::string> folders;
  const HoldGil gil;
  Object* const list = g_api.SysGetObject("path");
  const std::ptrdiff_t count = list == nullptr ? -1 : g_api.ListSize(list);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const char* const folder = g_api.AsUtf8(g_api.ListGetItem(list, i), nullptr);
    if (folder == nullptr) continue;
    std::error_code error;
    std::string path = std::filesystem::absolute(*folder == '\0' ? "." : folder, error).lexically_normal().string();
    if (error || path.empty()) continue;
    if (path.back() != '/') path += '/';
    folders.push_back(path);
  }
  g_api.ErrClear();
  std::sort(folders.begin(), folders.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

FrameWalk::FrameWalk() {
  const Layout* const layout = g_layout.load(std::memory_order_acquire);
  if (layout != nullptr) frame_ = InnermostFrame(*layout);
}

bool FrameWalk::Next(PythonCode& code) {
  return NextFrame(frame_, code, *g_layout.load(std::memory_order_relaxed));
}

}  // namespace ferret::torch_adapter
