// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target where there is no libFuzzer: with each seed, and then with changed ones, keeping what reaches new
// code. Bounded by executions and not by time, and the same in every run, so that what it finds can be found again.
//
// An execution fails that crashes, is more work or takes more memory than its input explains, or leaves memory behind.

#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/coverage.h"
#include "tests/fuzz/driver_options.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/memory_meter.h"
#include "tests/fuzz/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace ferret::fuzz {
namespace {

constexpr int kWrongUse = 2;

bool g_addresses_vary = false;

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Driver {
 public:
  explicit Driver(const DriverOptions& options, size_t most_bytes, std::vector<std::string> dictionary)
      : options_(options), mutator_(options.seed, most_bytes, std::move(dictionary)) {}

  void Execute(const std::string& input) {
    ExecuteOnce(input);
    corpus_.Offer(input, Coverage::Features(), Coverage::Comparisons());
    // Memory that is kept for later is not left behind each time.
    for (int again = 0; left_ > 0; ++again) {
      if (again == 3) {
        SetCurrentInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
        ReportFinding(absl::StrCat("each execution leaves ", left_, " bytes of memory behind").c_str());
      }
      ExecuteOnce(input);
    }
  }

  void Run() {
    // A target that no seed reaches is still tried, from nothing.
    if (corpus_.empty()) Execute("");
    if (corpus_.empty()) return;
    for (uint64_t i = 0; i < options_.runs; ++i) {
      const Corpus::Kept& from = corpus_.Pick(&mutator_);
      std::string input = from.input;
      mutator_.Mutate(&input, corpus_.Pick(&mutator_).input, from.comparisons);
      Execute(input);
    }
  }

  void Print(const char* program, size_t seeds, absl::Duration took) const {
    const char* const slash = std::strrchr(program, '/');
    const std::string line =
        absl::StrCat("FIGURE: fuzz: ", slash == nullptr ? program : slash + 1, ": ", executions_, " executions (", seeds,
                     " seeds), ", corpus_.edges(), " edges, ", corpus_.features(), " features, ", corpus_.size(),
                     " inputs kept; at most ", most_blocks_, " blocks and ", most_memory_ / 1024,
                     " KiB in an execution; 0 findings; ",
                     g_addresses_vary ? "addresses vary, so another run may differ; " : "", absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))), "\n");
    std::fputs(line.c_str(), stdout);
  }

  const Corpus& corpus() const { return corpus_; }

 private:
  void ExecuteOnce(const std::string& input) {
    ++executions_;
    // In memory of exactly its size: what is read beyond it, ASAN sees.
    const auto copy = std::make_unique<uint8_t[]>(input.size());
    std::copy(input.begin(), input.end(), copy.get());
    SetCurrentInput(copy.get(), input.size());
    MemoryMeter::Begin(options_.most_memory + options_.most_memory_per_byte * input.size(),
                       [] { ReportFinding("more memory than the input explains"); });
    Coverage::Begin(options_.most_blocks + options_.most_blocks_per_byte * input.size(),
                    [] { ReportFinding("more work than the input explains"); });
    LLVMFuzzerTestOneInput(copy.get(), input.size());
    left_ = MemoryMeter::Left();
    most_memory_ = std::max(most_memory_, MemoryMeter::Most());
    MemoryMeter::End();
    Coverage::End();
    most_blocks_ = std::max(most_blocks_, Coverage::Blocks());
    left_ = MemoryMeter::Left();
  }

  const DriverOptions& options_;
  Mutator mutator_;
  Corpus corpus_;
  uint64_t executions_ = 0;
  uint64_t most_blocks_ = 0;
  int64_t most_memory_ = 0;
  int64_t left_ = 0;  // of the latest execution
};

// Addresses that the kernel chooses would make a hash table of the target's differ from run to run. Containers may refuse.
void FixAddresses(char** argv) {
  const int now = personality(0xffffffff);
  if (now >= 0 && (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (now >= 0 && personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0) execv("/proc/self/exe", argv);
  g_addresses_vary = true;
}

absl::Status Main(int argc, char** argv) {
  const absl::StatusOr<DriverOptions> options = ParseDriverOptions(argv + 1);
  if (!options.ok()) return options.status();
  std::vector<std::string> dictionary;
  if (!options->dictionary.empty()) {
    const absl::StatusOr<std::string> text = ReadWhole(options->dictionary);
    if (!text.ok()) return text.status();
    absl::StatusOr<std::vector<std::string>> words = ParseDictionary(*text);
    if (!words.ok()) return words.status();
    dictionary = *std::move(words);
  }
  const absl::StatusOr<std::vector<std::string>> files = FilesAt(options->seeds);
  if (!files.ok()) return files.status();
  std::vector<std::string> seeds;
  size_t most_bytes = options->most_bytes;
  for (const std::string& file : *files) {
    absl::StatusOr<std::string> seed = ReadWhole(file);
    if (!seed.ok()) return seed.status();
    most_bytes = std::max(most_bytes, seed->size());
    seeds.push_back(*std::move(seed));
  }
  WatchForCrashes(options->artifacts);
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  Driver driver(*options, most_bytes, std::move(dictionary));
  const absl::Time start = absl::Now();
  for (const std::string& seed : seeds) driver.Execute(seed);
  driver.Run();
  driver.Print(argv[0], seeds.size(), absl::Now() - start);
  if (options->smallest.empty()) return absl::OkStatus();
  return driver.corpus().WriteSmallest(options->smallest, options->most_files);
}

}  // namespace
}  // namespace ferret::fuzz

int main(int argc, char** argv) {
  ferret::fuzz::FixAddresses(argv);
  const absl::Status status = ferret::fuzz::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "fuzz: %s\n", std::string(status.message()).c_str());
  return ferret::fuzz::kWrongUse;
}
