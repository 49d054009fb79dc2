// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a thread executes for a scope. Each unit is one call of a function with one scope in it; `call` is the same with
// nothing in it. scope.md accounts for every instruction of OneScope.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "ferret/scope.h"
#include "runtime/crash/crash_file.h"
#include "runtime/record/recorder.h"
#include "tests/instructions/work.h"

namespace ferret {
namespace {

using internal::CrashFile;
using internal::CrashPart;
using internal::Recorder;

constexpr int kWarmUp = 100;
constexpr int kScopes = 1000;             // with the warm-up they fit a chunk
constexpr int kScopesManyChunks = 20000;  // about ten chunks

#define FERRET_UNIT __attribute__((noipa, aligned(64)))

FERRET_UNIT void Nothing() { asm volatile(""); }
FERRET_UNIT void OneScope() { FERRET_SCOPE("scope"); }
volatile int64_t g_sequence_nr = 0;
FERRET_UNIT void OneOpScope() { FERRET_OP_SCOPE("op", ForwardOp(g_sequence_nr)); }
const std::string& DynamicName() {
  static const std::string* const name = new std::string("a name that is made at run time");
  return *name;
}
std::string_view g_dynamic_name;
FERRET_UNIT void OneDynamicScope() { const Scope scope(g_dynamic_name); }

enum class Mode { kOff, kOn, kFull, kCrashFile };

class RecordingUnits final : public Work {
 public:
  RecordingUnits(void (*unit)(), Mode mode, int scopes = kScopes) : unit_(unit), mode_(mode), scopes_(scopes) {}
  ~RecordingUnits() override {
    Recorder::Stop();
    if (file_ != nullptr) file_->Remove(false);
  }

  void Prepare() override {
    g_dynamic_name = DynamicName();
    if (mode_ != Mode::kOff) Start();
    Repeat(mode_ == Mode::kFull ? 10 * kScopes : kWarmUp);
  }
  void Run() override { Repeat(scopes_); }
  int64_t units() const override { return scopes_; }
  bool in_calls() const override { return true; }

 private:
  void Start() {
    Recorder::Config config;
    config.pool.chunks = config.pool.max_chunks = mode_ == Mode::kFull ? 2 : 64;
    Recorder* const recorder = Recorder::Create(config);
    if (recorder == nullptr) std::abort();
    if (mode_ == Mode::kCrashFile) MoveIntoFile(recorder, config);
    recorder->Start(true);
  }

  void MoveIntoFile(Recorder* recorder, const Recorder::Config& config) {
    const char* const folder = std::getenv("TEST_TMPDIR");
    CrashFile::Config file;
    file.directory = folder != nullptr ? folder : "/tmp";
    file.chunk_bytes = config.pool.chunk_bytes;
    file.chunks = file.min_chunks = config.pool.chunks;
    file.outputs = 1;
    const auto created = CrashFile::Create(file);
    if (!created.ok()) std::abort();
    file_ = *created;
    if (!file_->Publish().ok()) std::abort();
    // In place of TakeNamesAndChunks: valgrind does not know the way in which that maps the chunks once more.
    const int fd = open(file_->path().c_str(), O_RDWR | O_CLOEXEC);
    const auto offset = static_cast<off_t>(file_->header().parts[static_cast<size_t>(CrashPart::kChunks)].offset);
    void* const mapped = mmap(recorder->pool().memory(), recorder->pool().bytes(), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, fd, offset);
    close(fd);
    if (mapped == MAP_FAILED) std::abort();
  }

  void Repeat(int times) const {
    void (*const unit)() = unit_;
    for (int i = 0; i < times; ++i) unit();
  }

  void (*const unit_)();
  const Mode mode_;
  const int scopes_;
  CrashFile* file_ = nullptr;
};

}  // namespace

std::unique_ptr<Work> RecordingWork(std::string_view name) {
  const auto make = [](auto... arguments) { return std::make_unique<RecordingUnits>(arguments...); };
  if (name == "call") return make(&Nothing, Mode::kOn);
  if (name == "scope") return make(&OneScope, Mode::kOn);
  if (name == "scope_chunks") return make(&OneScope, Mode::kOn, kScopesManyChunks);
  if (name == "op_scope") return make(&OneOpScope, Mode::kOn);
  if (name == "dynamic_name") return make(&OneDynamicScope, Mode::kOn);
  if (name == "scope_off") return make(&OneScope, Mode::kOff);
  if (name == "scope_dropping") return make(&OneScope, Mode::kFull);
  if (name == "scope_crash_file") return make(&OneScope, Mode::kCrashFile);
  return nullptr;
}

}  // namespace ferret
