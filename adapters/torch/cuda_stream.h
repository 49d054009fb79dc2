// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The stream that PyTorch launches onto. The adapter is built without CUDA and loads beside PyTorch with and without, so
// what it needs of PyTorch and of the driver is looked up at run time. Nothing here initialises CUDA, makes a context or
// a stream.

#ifndef FERRET_ADAPTERS_TORCH_CUDA_STREAM_H_
#define FERRET_ADAPTERS_TORCH_CUDA_STREAM_H_

#include <string>

struct CUstream_st;

namespace ferret::torch_adapter {

// Looks up what CurrentCudaStream needs: before the first call of that, and not by two threads at once. Empty, or the
// reason why there are no streams.
std::string FindCudaStreams();

// Whether FindCudaStreams found it.
bool HasCudaStreams();

// The calling thread's current stream of its current device; the default stream as cuda::LegacyStream(). False if no
// CUDA context is current on the thread: it launches nothing now. Only if HasCudaStreams(). Throws nothing.
bool CurrentCudaStream(CUstream_st** stream);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_CUDA_STREAM_H_
