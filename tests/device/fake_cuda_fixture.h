// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the fake CUDA driver: its functions by name, and a context with a stream.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_FIXTURE_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_FIXTURE_H_

#include <cstdint>

#include "gtest/gtest.h"
#include "tests/device/fake_cuda/fake_cuda.h"
#include "tests/device/fake_cuda/fake_cuda_loader.h"

namespace fake_cuda {

// Calls the exported function of this name, whose parameters are those given.
template <typename... Arguments>
int Cu(const char* name, Arguments... arguments) {
  return Symbol<int(Arguments...)>(name)(arguments...);
}

inline void* const kNull = nullptr;

class FakeCudaTest : public testing::Test {
 protected:
  FakeCudaTest() {
    fake_.Reset();
    context_ = fake_.NewContext(0);
    fake_.MakeCurrent(context_);
    stream_ = fake_.NewStream(context_);
  }

  static void* NewEvent(unsigned flags = 0) {
    void* event = nullptr;
    EXPECT_EQ(Cu("cuEventCreate", &event, flags), 0);
    return event;
  }
  void* RecordedEvent(void* stream) {
    void* const event = NewEvent();
    EXPECT_EQ(Cu("cuEventRecord", event, stream), 0);
    return event;
  }
  // -1 if the call failed: no test has an interval of that length.
  static float ElapsedMs(void* start, void* end) {
    float ms = -1;
    Cu("cuEventElapsedTime_v2", &ms, start, end);
    return ms;
  }
  int64_t StampNs(void* event) {
    int64_t ns = -1;
    EXPECT_TRUE(fake_.StampNs(event, &ns));
    return ns;
  }

  FakeCuda& fake_ = Load().fake;
  void* context_;
  void* stream_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_FIXTURE_H_
