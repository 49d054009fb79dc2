// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Many threads, contexts and streams through several sessions in a row, while the driver fails in every way it can.

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/cuda_session_kit.h"

namespace ferret {
namespace {

using internal::CudaContext;
using internal::CudaTimer;

constexpr int kThreads = 16, kContexts = 4, kStreams = 8, kSessions = 6;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kScopes = 2'000;
#else
constexpr int kScopes = 20'000;
#endif

struct Work {
  std::array<void*, kContexts> contexts;
  std::array<std::array<cuda::Stream, kStreams>, kContexts> streams;
};

class Thread {
 public:
  Thread(CudaSessions& sessions, const Work& work, unsigned seed)
      : fake_(sessions.fake), work_(work), random_(seed), capture_(nullptr) {
    const size_t own = random_() % kContexts;
    fake_.MakeCurrent(work_.contexts[own]);
    capture_ = sessions.NewStream(work_.contexts[own], 1);
  }

  void Run(int scopes) {
    for (int i = 0; i < scopes; ++i) Nest(static_cast<int>(random_() % 4));
    EndCapture();
  }
  // A scope that stays open.
  void Open() {
    open_.emplace(PickStream(), "open");
    ++asked;
  }
  void Close() { open_.reset(); }

  uint64_t asked = 0;

 private:
  cuda::Stream PickStream() {
    switch (random_() % 40) {
      case 0: return nullptr;
      case 1: return cuda::LegacyStream();
      case 2: return cuda::PerThreadStream();
      case 3: return capture_;
      default: return work_.streams[random_() % kContexts][random_() % kStreams];
    }
  }
  void Nest(int depth) {
    const cuda::Stream stream = PickStream();
    ++asked;
    if (random_() % 3 == 0) {
      const cuda::Annotation annotation(stream, "annotation");
      Inside(stream, depth);
    } else if (random_() % 2 == 0) {
      const cuda::Scope scope(stream, "named at run time " + std::to_string(random_() % 8));
      Inside(stream, depth);
    } else {
      FERRET_CUDA_SCOPE(stream, "scope");
      Inside(stream, depth);
    }
  }
  void Inside(cuda::Stream stream, int depth) {
    if (stream != nullptr) fake_.Kernel(stream, random_() % 20'000);
    if (random_() % 50 == 0) ToggleCapture();
    if (depth > 0) Nest(depth - 1);
  }
  // A non-blocking stream's, so that kernels on the legacy stream, which are the program's own, are allowed beside it.
  void ToggleCapture() {
    if (capturing_) {
      EndCapture();
    } else {
      capturing_ = fake_.BeginCapture(capture_, static_cast<int>(random_() % 3)) == 0;
    }
  }
  void EndCapture() {
    if (capturing_) fake_.EndCapture(capture_);
    capturing_ = false;
  }

  fake_cuda::FakeCuda& fake_;
  const Work& work_;
  std::mt19937 random_;
  cuda::Stream capture_;
  bool capturing_ = false;
  std::optional<cuda::Scope> open_;
};

// One failure after the other, of every function that is called, until it is told to stop.
class Saboteur {
 public:
  Saboteur(fake_cuda::FakeCuda& fake, unsigned seed, bool terminal) : thread_([this, &fake, seed, terminal] {
    std::mt19937 random(seed);
    const char* const functions[] = {"cuEventRecord",   "cuEventQuery",        "cuEventElapsedTime", "cuEventCreate",
                                     "cuCtxGetCurrent", "cuStreamIsCapturing", "cuStreamGetCtx",     "cuCtxGetId",
                                     "cuStreamGetId",   "cuCtxGetDevice"};
    const int codes[] = {1, 2, 201, 400, 401, 600, 900, 901, 906, 907};
    while (!stop_) {
      const char* const function = functions[random() % std::size(functions)];
      // A device that is out of memory for good makes no more events, which would end the test.
      if (std::string(function) == "cuEventCreate" && random() % 8 != 0) continue;
      const bool end = terminal && random() % 400 == 0;
      fake.FailNext(function, end ? 719 : codes[random() % std::size(codes)], 1, static_cast<int>(random() % 50));
      std::this_thread::yield();
    }
    fake.StopFailing();
  }) {}
  ~Saboteur() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

int Tid() { return static_cast<int>(syscall(SYS_gettid)); }

std::vector<int> OtherThreads() {
  std::vector<int> tids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const int tid = std::stoi(entry.path().filename().string());
    if (tid != Tid()) tids.push_back(tid);
  }
  return tids;
}

TEST(CudaSessionStress, EveryScopeIsTimedOrLostForOneReasonWhateverTheDriverDoes) {
  CudaSessions sessions(2);
  fake_cuda::FakeCuda& fake = sessions.fake;
  Work work;
  for (size_t i = 0; i < kContexts; ++i) {
    work.contexts[i] = sessions.NewContext(static_cast<int>(i % 2));
    for (cuda::Stream& stream : work.streams[i]) stream = sessions.NewStream(work.contexts[i], i % 2);
  }
  fake.SetStreamGreen(work.streams[3][7], true);
  std::mutex mutex;
  std::set<int> recording_tids;
  DeviceCounts all;
  // Threads that hold a scope open from each session into the next one.
  std::vector<std::unique_ptr<Thread>> holders;
  for (unsigned i = 0; i < 4; ++i) holders.push_back(std::make_unique<Thread>(sessions, work, 1000 + i));

  for (unsigned session = 0; session < kSessions; ++session) {
    SCOPED_TRACE("session " + std::to_string(session));
    sessions.options.cuda_rate = session == 2 ? 20'000 : 0;
    if (session == 3) fake.Kernel(work.streams[1][0], 3'000'000'000);  // what lies behind it cannot be known in time
    sessions.Start();
    // The drain and the exporters: the device thread comes with the first scope.
    const std::vector<int> kept_away = OtherThreads();
    EXPECT_GE(kept_away.size(), 2u);
    for (const int tid : kept_away) fake.ForbidThread(tid);
    for (const auto& holder : holders) holder->Close();
    for (const auto& streams : work.streams) cuda::Prepare(streams[0]);
    std::atomic<uint64_t> asked{0};
    {
      std::optional<Saboteur> saboteur;
      if (session != 0 && session != 5) saboteur.emplace(fake, session, session == 4);
      std::vector<std::thread> threads;
      for (unsigned i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
          // Half of the work by a thread of its own each time.
          for (unsigned part = 0; part < 2; ++part) {
            std::thread([&, part] {
              Thread thread(sessions, work, session * 100 + 2 * i + part);
              thread.Run(kScopes / kThreads / 2);
              asked += thread.asked;
              std::lock_guard<std::mutex> lock(mutex);
              recording_tids.insert(Tid());
            }).join();
            if (i == 7 && part == 0 && session == 4) fake.LoseContext(work.contexts[2], 700);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    for (const auto& holder : holders) {
      const uint64_t before = holder->asked;
      holder->Open();
      asked += holder->asked - before;
    }
    // The one behind the long kernel would be waited for.
    const absl::Duration limit = session == 3 ? absl::Seconds(1) : absl::Seconds(60);
    EXPECT_TRUE(StopSession(limit).ok());
    for (const int tid : kept_away) fake.ForbidThread(tid, false);
    EXPECT_EQ(fake.GetCounts().forbidden_calls, 0u) << fake.ForbiddenCalls();
    ExpectExactDevices(asked, sessions.collector->Take());
    const DeviceCounts counts = DeviceLosses();
    RecordProperty("session" + std::to_string(session), Text(counts));
    EXPECT_GT(counts.timed, 0u) << Text(counts);
    for (size_t i = 0; i < kDeviceLossCount; ++i) all.lost[i] += counts.lost[i];
  }
  for (const auto& holder : holders) holder->Close();
  for (const DeviceLoss reason :
       {DeviceLoss::kBadStream, DeviceLoss::kGreenContext, DeviceLoss::kCapture, DeviceLoss::kRecordFailed,
        DeviceLoss::kQueryFailed, DeviceLoss::kDeviceLost, DeviceLoss::kAbandonedAtStop}) {
    EXPECT_GT(all[reason], 0u) << DeviceLossText(reason);
  }

  // Nobody but device threads made an event, and none was destroyed or used wrongly.
  recording_tids.insert(Tid());
  for (const int tid : recording_tids) EXPECT_EQ(fake.EventsCreatedBy(tid), 0u);
  const fake_cuda::Counts used = fake.GetCounts();
  EXPECT_EQ(used.events_destroyed, 0u);
  EXPECT_EQ(used.uses_after_destroy, 0u);
  EXPECT_EQ(used.captures_invalidated, 0u);
  EXPECT_EQ(used.records_into_captures, 0u);
  EXPECT_EQ(used.capture_violations, 0u);

  // In one more session all that was given up comes back.
  sessions.Start();
  (void)cuda::Prepare(work.streams[0][0]);  // has the device thread started; that context may be lost
  CudaTimer& timer = CudaTimer::Global();
  const auto whole = [&timer](uint32_t domain) {
    const CudaContext& context = timer.context(domain);
    return context.lost() || context.free_pairs() == context.created();
  };
  const absl::Time until = absl::Now() + absl::Seconds(30);
  for (uint32_t domain = 1; domain <= timer.domains(); ++domain) {
    while (!whole(domain) && absl::Now() < until) std::this_thread::yield();
    EXPECT_TRUE(whole(domain)) << "context " << domain << ": " << timer.context(domain).free_pairs() << " of "
                               << timer.context(domain).created();
  }
  sessions.Stop();
}

}  // namespace
}  // namespace ferret
