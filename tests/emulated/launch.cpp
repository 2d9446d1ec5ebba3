// The kernels, each under a name that a launch asks for.
#include "card.h"
// Only after it: the language that they are written in.
#include "probe.cu"
#include "train.cu"

#define LAUNCH(kernel)                                                                        \
  extern "C" const char* launch_##kernel(int blocks, int threads, unsigned long shared_bytes, \
                                         unsigned long seed, void** arguments) {              \
    return card::run(kernel, {blocks, threads, shared_bytes, seed}, arguments);               \
  }

LAUNCH(probe)
LAUNCH(train)
