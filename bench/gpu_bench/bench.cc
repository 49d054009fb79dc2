// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/gpu_bench/bench.h"

#include <atomic>
#include <exception>
#include <stdexcept>
#include <thread>

namespace gpu_bench {
namespace {

constexpr char kSpin[] =
#include "bench/gpu_bench/spin.inc"
    ;

}  // namespace

Bench::Bench(const gpu::Driver& loaded, gpu::Device the_device, gpu::Context the_context, bool is_short)
    : driver(loaded), device(the_device), context(the_context), short_run(is_short) {
  gpu::Module module = nullptr;
  GPU_CALL(driver, cuModuleLoadData, &module, kSpin);
  GPU_CALL(driver, cuModuleGetFunction, &spin_, module, "spin");
  GPU_CALL(driver, cuMemAlloc, &slots_, kSlots * sizeof(Stamps));
  const std::vector<Stamps> none(kSlots);
  const gpu::Stream stream = NewStream();
  GPU_CALL(driver, cuMemcpyHtoDAsync, slots_, none.data(), kSlots * sizeof(Stamps), stream);
  Destroy(stream);
}

gpu::Stream Bench::NewStream(unsigned flags, int priority) const {
  gpu::Stream stream = nullptr;
  GPU_CALL(driver, cuStreamCreateWithPriority, &stream, flags, priority);
  return stream;
}

gpu::Event Bench::NewEvent() const {
  gpu::Event event = nullptr;
  GPU_CALL(driver, cuEventCreate, &event, 0u);
  return event;
}

std::vector<gpu::Event> Bench::NewEvents(size_t count) const {
  std::vector<gpu::Event> events(count);
  for (gpu::Event& event : events) event = NewEvent();
  return events;
}

void Bench::Destroy(gpu::Stream stream) const {
  GPU_CALL(driver, cuStreamSynchronize, stream);
  GPU_CALL(driver, cuStreamDestroy, stream);
}

void Bench::Destroy(const std::vector<gpu::Event>& events) const {
  for (const gpu::Event event : events) GPU_CALL(driver, cuEventDestroy, event);
}

void Bench::Spin(gpu::Stream stream, uint64_t ns, uint32_t slot, uint32_t blocks) const {
  gpu::Address out = slot == kNoSlot ? 0 : slots_ + slot * sizeof(Stamps);
  void* arguments[] = {&out, &ns};
  GPU_CALL(driver, cuLaunchKernel, spin_, blocks, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
}

bool Bench::ReadStamps(gpu::Stream stream, uint32_t slots, std::vector<Stamps>* stamps) const {
  stamps->assign(slots, Stamps{});
  GPU_CALL(driver, cuMemcpyDtoHAsync, stamps->data(), slots_, slots * sizeof(Stamps), stream);
  GPU_CALL(driver, cuStreamSynchronize, stream);
  for (const Stamps& s : *stamps) {
    if (s.start_ns == 0 || s.stop_ns < s.start_ns) return false;
  }
  return true;
}

void Bench::Await(gpu::Event event) const {
  const int64_t deadline = NowNs() + 1'000'000'000;
  for (;;) {
    const gpu::Result result = driver.cuEventQuery(event);
    if (result == 0) return;
    if (result != gpu::kNotReady) driver.Check(result, "cuEventQuery");
    if (NowNs() > deadline) throw std::runtime_error("an event was not complete after a second");
  }
}

double Bench::ElapsedNs(gpu::Event from, gpu::Event to) const {
  float ms = 0;
  GPU_CALL(driver, cuEventElapsedTime, &ms, from, to);
  return static_cast<double>(ms) * 1e6;
}

void OnThreads(const Bench& bench, int count, const std::function<void(int thread)>& work) {
  std::atomic<int> ready{0};
  std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        GPU_CALL(bench.driver, cuCtxSetCurrent, bench.context);
        ready.fetch_add(1);
        while (ready.load() < count) std::this_thread::yield();
        work(i);
      } catch (...) {
        errors[static_cast<size_t>(i)] = std::current_exception();
        ready.fetch_add(count);  // the others need not wait for this one
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace gpu_bench
