// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The fake driver as a library: devices, look-up of functions, memory and launches, and its broken relatives.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tests/device/fake_cuda_fixture.h"

namespace fake_cuda {
namespace {

class FakeCudaLibrary : public FakeCudaTest {
 protected:
  struct Answer {
    int result;
    void* function;
    int status;
  };
  static Answer Ask(const char* name, int version, uint64_t flags = 0) {
    Answer answer{-1, &answer, -1};
    answer.result = Cu("cuGetProcAddress_v2", name, &answer.function, version, flags, &answer.status);
    return answer;
  }
};

TEST_F(FakeCudaLibrary, FindsTheNewestVariantThatIsOldEnough) {
  EXPECT_EQ(Ask("cuEventElapsedTime", 12000).function, Symbol("cuEventElapsedTime"));
  EXPECT_EQ(Ask("cuEventElapsedTime", 13000).function, Symbol("cuEventElapsedTime_v2"));
  EXPECT_EQ(Ask("cuStreamGetCtx", 12040).function, Symbol("cuStreamGetCtx"));
  EXPECT_EQ(Ask("cuEventRecord", 13000, 1).function, Symbol("cuEventRecord"));
  EXPECT_EQ(Ask("cuEventRecord", 13000, 2).function, Symbol("cuEventRecord_ptsz"));
  EXPECT_EQ(Ask("cuEventQuery", 13000, 2).function, Symbol("cuEventQuery")) << "has no other variant";
}

TEST_F(FakeCudaLibrary, SaysWhyAFunctionIsNotFound) {
  const Answer unknown = Ask("cuNoSuchThing", 13000);
  EXPECT_EQ(unknown.result, 0);
  EXPECT_EQ(unknown.function, nullptr);
  EXPECT_EQ(unknown.status, 1);
  const Answer old = Ask("cuStreamGetId", 11080);
  EXPECT_EQ(old.result, 0);
  EXPECT_EQ(old.function, nullptr);
  EXPECT_EQ(old.status, 2);
  EXPECT_EQ(Ask("cuStreamGetId", 13010).result, 1) << "newer than the driver";
  fake_.SetUnavailable("cuStreamGetId", true);
  EXPECT_EQ(Ask("cuStreamGetId", 13000).status, 1);
  fake_.SetUnavailable("cuStreamGetId", false);
  EXPECT_EQ(Ask("cuStreamGetId", 13000).status, 0);
  void* function = nullptr;
  EXPECT_EQ(Cu("cuGetProcAddress", "cuInit", &function, 11030, uint64_t{0}), 0);
  EXPECT_EQ(function, Symbol("cuInit"));
}

TEST_F(FakeCudaLibrary, HasTheDevicesThatTheTestWants) {
  fake_.Reset();
  int count = 7;
  fake_.SetDeviceCount(0);
  EXPECT_EQ(Cu("cuInit", 0U), 100);
  EXPECT_EQ(Cu("cuDeviceGetCount", &count), 100);
  EXPECT_EQ(count, 7);

  fake_.Reset();
  fake_.SetDeviceCount(2);
  fake_.SetDriverVersion(12040);
  fake_.SetDeviceName(1, "Imaginary 9000");
  fake_.SetDeviceMemory(1, 1024);
  fake_.SetDeviceAttribute(1, 16, 3);
  EXPECT_EQ(Cu("cuInit", 0U), 0);
  EXPECT_EQ(Cu("cuDeviceGetCount", &count), 0);
  EXPECT_EQ(count, 2);
  int version = 0;
  EXPECT_EQ(Cu("cuDriverGetVersion", &version), 0);
  EXPECT_EQ(version, 12040);
  char name[10];
  EXPECT_EQ(Cu("cuDeviceGetName", static_cast<char*>(name), 10, 1), 0);
  EXPECT_STREQ(name, "Imaginary");
  size_t bytes = 0;
  EXPECT_EQ(Cu("cuDeviceTotalMem_v2", &bytes, 1), 0);
  EXPECT_EQ(bytes, 1024U);
  int processors = 0;
  EXPECT_EQ(Cu("cuDeviceGetAttribute", &processors, 16, 1), 0);
  EXPECT_EQ(processors, 3);
  int device = 5;
  EXPECT_EQ(Cu("cuDeviceGet", &device, 2), 101);
  EXPECT_EQ(device, 5);
  char first[16];
  char second[16];
  EXPECT_EQ(Cu("cuDeviceGetUuid_v2", static_cast<char*>(first), 0), 0);
  EXPECT_EQ(Cu("cuDeviceGetUuid_v2", static_cast<char*>(second), 1), 0);
  EXPECT_NE(std::memcmp(first, second, 16), 0);
}

TEST_F(FakeCudaLibrary, NamesErrors) {
  const char* name = nullptr;
  EXPECT_EQ(Cu("cuGetErrorName", 600, &name), 0);
  EXPECT_STREQ(name, "CUDA_ERROR_NOT_READY");
  EXPECT_EQ(Cu("cuGetErrorString", 12345, &name), 1);
}

TEST_F(FakeCudaLibrary, LaunchesKernelsThatTakeTimeOnly) {
  void* module = nullptr;
  void* slow = nullptr;
  void* other = nullptr;
  ASSERT_EQ(Cu("cuModuleLoadData", &module, static_cast<const void*>("image")), 0);
  ASSERT_EQ(Cu("cuModuleGetFunction", &slow, module, "slow"), 0);
  ASSERT_EQ(Cu("cuModuleGetFunction", &other, module, "other"), 0);
  fake_.SetKernelNs("slow", 70'000);
  fake_.SetKernelNs(nullptr, 5'000);
  const auto launch = [&](void* function, unsigned grid) {
    return Cu("cuLaunchKernel", function, grid, 1U, 1U, 32U, 1U, 1U, 0U, stream_, static_cast<void**>(nullptr),
              static_cast<void**>(nullptr));
  };
  const int64_t now = fake_.NowNs();
  EXPECT_EQ(launch(slow, 1), 0);
  EXPECT_EQ(launch(other, 1), 0);
  EXPECT_EQ(fake_.ReadyAtNs(stream_), now + 75'000);
  EXPECT_EQ(launch(slow, 0), 1);
  EXPECT_EQ(Cu("cuModuleUnload", module), 0);
  EXPECT_EQ(launch(slow, 1), 400);
}

TEST_F(FakeCudaLibrary, KeepsDeviceMemory) {
  uint64_t address = 0;
  ASSERT_EQ(Cu("cuMemAlloc_v2", &address, size_t{16}), 0);
  ASSERT_EQ(Cu("cuMemsetD32_v2", address, 7U, size_t{4}), 0);
  const uint32_t two[] = {1, 2};
  const int64_t before = fake_.NowNs();
  ASSERT_EQ(Cu("cuMemcpyHtoD_v2", address + 4, static_cast<const void*>(two), size_t{8}), 0);
  EXPECT_GT(fake_.NowNs(), before) << "the call waits";
  uint32_t read[4] = {};
  void* const to = read;
  ASSERT_EQ(Cu("cuMemcpyDtoHAsync_v2", to, address, size_t{16}, stream_), 0);
  EXPECT_EQ(Cu("cuStreamQuery", stream_), 600) << "the call does not wait";
  EXPECT_EQ(read[0], 7U);
  EXPECT_EQ(read[1], 1U);
  EXPECT_EQ(read[2], 2U);
  EXPECT_EQ(read[3], 7U);
  EXPECT_EQ(Cu("cuMemcpyDtoH_v2", to, address + 1, size_t{16}), 1) << "beyond the end";
  EXPECT_EQ(Cu("cuMemFree_v2", address), 0);
  EXPECT_EQ(Cu("cuMemFree_v2", address), 1);
}

TEST_F(FakeCudaLibrary, HasARelativeThatLacksElapsedTimes) {
  void* const library = dlopen(IncompleteLibraryPath().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "cuEventQuery"), nullptr);
  EXPECT_EQ(dlsym(library, "cuEventElapsedTime"), nullptr);
  EXPECT_EQ(dlsym(library, "cuEventElapsedTime_v2"), nullptr);
  using GetProcAddress = int(const char*, void**, int, uint64_t, int*);
  auto* const ask = reinterpret_cast<GetProcAddress*>(dlsym(library, "cuGetProcAddress_v2"));
  void* function = library;
  int status = 0;
  EXPECT_EQ(ask("cuEventElapsedTime", &function, 13000, 0, &status), 0);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, 1);
}

TEST_F(FakeCudaLibrary, HasARelativeThatIsAStub) {
  void* const library = dlopen(StubLibraryPath().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  void* context = library;
  EXPECT_EQ(reinterpret_cast<int (*)(void**)>(dlsym(library, "cuCtxGetCurrent"))(&context), 34);
  EXPECT_EQ(context, library);
}

}  // namespace
}  // namespace fake_cuda
