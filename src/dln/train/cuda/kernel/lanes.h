// The lanes of head.h in the kernel: each thread has one row.
#pragma once

#define DLN_LEVEL cuda
#define DLN_INLINE __device__ __forceinline__

namespace dln::cuda {

using Reals = float;
using Integers = int;

DLN_INLINE float fill(float x) { return x; }
DLN_INLINE int fill(int x) { return x; }
DLN_INLINE float load(const float* p) { return *p; }
DLN_INLINE void store(float* p, float x) { *p = x; }
DLN_INLINE float select(bool mask, float yes, float no) { return mask ? yes : no; }
DLN_INLINE int select(bool mask, int yes, int no) { return mask ? yes : no; }
DLN_INLINE float larger(float x, float y) { return fmaxf(x, y); }
DLN_INLINE float exp_nonpositive(float x) { return expf(x); }
DLN_INLINE float log1p(float x) { return log1pf(x); }

}  // namespace dln::cuda

#include "head.h"

namespace head = dln::cuda;
