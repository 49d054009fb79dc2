// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The Python functions that the calling thread is in, read without Python's help.
//
// PyTorch releases the interpreter lock (GIL) before it runs an operator, and taking it back for every operator would
// make threads wait for each other, or for ever where another one holds it and waits for this one. A thread's frames,
// however, change only while that thread runs Python code, and what is read of them lives as long as they do: code
// objects and their names, which are immutable. So they are read where they lie, by the layout of CPython's structures.
//
// That layout differs between releases of Python. It is known for those in the table (python_frames.cc), and
// checked against what Python itself says before it is used.

#ifndef FERRET_ADAPTERS_TORCH_PYTHON_FRAMES_H_
#define FERRET_ADAPTERS_TORCH_PYTHON_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ferret::torch_adapter {

// A Python string where it lies: `kind` bytes for each character.
struct PythonText {
  const void* object = nullptr;
  const void* data = nullptr;  // nullptr: not readable
  size_t length = 0;
  uint8_t kind = 1;
  bool ascii = true;
};

// What names a function, as valid as the frame it was read of.
struct PythonCode {
  const void* object = nullptr;
  PythonText file;
  PythonText name;
  int32_t first_line = 0;
};

// Appends it in UTF-8.
void AppendText(const PythonText& text, std::string& out);

// Finds Python in this process and checks that its frames can be read. Empty if they can, otherwise the reason why not.
// Called on the thread that starts a session; takes the GIL. Once it has succeeded, calls do nothing.
std::string FindPython();

// The folders that modules are imported from (sys.path), absolute, with a slash at their ends, the longest first.
// Takes the GIL; only after FindPython has succeeded.
std::vector<std::string> ImportFolders();

// A walk from the innermost frame outwards. Never takes the GIL. Nothing before FindPython has succeeded, on a thread
// that runs no Python code, and while Python is being shut down.
class FrameWalk {
 public:
  FrameWalk();
  // False when there are no more.
  bool Next(PythonCode& code);

 private:
  const char* frame_ = nullptr;
};

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_PYTHON_FRAMES_H_
