// The kernels, with the names that a launch uses.
#include "gpu.h"
// After gpu.h, which defines the parts of CUDA that they use.
#include "probe.cu"
#include "train.cu"

#define LAUNCH(kernel)                                                                        \
  extern "C" const char* launch_##kernel(int blocks, int threads, unsigned long shared_bytes, \
                                         unsigned long seed, void** arguments) {              \
    return gpu::run(kernel, {blocks, threads, shared_bytes, seed}, arguments);               \
  }

LAUNCH(probe)
LAUNCH(train)
