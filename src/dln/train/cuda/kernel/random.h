// The order of the rows, the same as in native/train/random.h.
//
// The Fisher-Yates shuffle is sequential, so 32 epochs are shuffled at a time, one by each
// lane of a warp. A lane's random numbers start where those of the epoch before it end: an epoch
// draws a fixed count of numbers, and advancing the generator by that count is a linear map of its
// 256 bits, which is made on the host.
#pragma once

#include "network.h"

__device__ inline u64 rotate(u64 x, int k) { return (x << k) | (x >> (64 - k)); }

// xoshiro256**
__device__ inline u64 next_number(u64 (&s)[4]) {
  const u64 result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotate(s[3], 45);
  return result;
}

// Advance by an epoch: the sum, modulo 2, of the images (256, 4) of the bits that are set.
__device__ inline void jump(u64 (&s)[4], const u64* images) {
  u64 sum[4] = {0, 0, 0, 0};
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int bit = lane_of() + 32 * j;
    if (s[j / 2] >> (bit & 63) & 1)
      for (int i = 0; i < 4; ++i) sum[i] ^= images[4 * bit + i];
  }
  for (int i = 0; i < 4; ++i) {
    for (int offset = 16; offset > 0; offset >>= 1)
      sum[i] ^= __shfl_xor_sync(kAll, sum[i], offset);
    s[i] = sum[i];
  }
}

// Draw the permutations of the next epochs; one warp.
__device__ inline void draw_shuffles(const Block& block) {
  const Plan& plan = block.plan;
  const int n = plan.n_rows, count = plan.n_shuffles, lane = lane_of();
  u64 state[4], own[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4; ++i) state[i] = block.state.random[i];
  for (int l = 0; l < count; ++l) {
    if (l == lane)
      for (int i = 0; i < 4; ++i) own[i] = state[i];
    jump(state, block.pools.jump + plan.jump);
  }
  __syncwarp();
  if (lane == 0)
    for (int i = 0; i < 4; ++i) block.state.random[i] = state[i];
  if (lane >= count) return;
  int* places = block.pools.shuffle + plan.shuffle + lane;
  for (int i = 0; i < n; ++i) places[static_cast<i64>(i) * count] = i;
  for (int i = n; i > 1; --i) {
    const i64 j = static_cast<i64>(__umul64hi(next_number(own), static_cast<u64>(i)));
    const i64 one = static_cast<i64>(i - 1) * count, other = j * count;
    const int kept = places[one];
    places[one] = places[other];
    places[other] = kept;
  }
}

// The rows in the order of an epoch. Two arrays alternate.
__device__ inline int* order_of(const Block& block, int epoch) {
  return block.pools.order + block.plan.row + static_cast<i64>((epoch + 1) & 1) * block.plan.n_rows;
}

// Write the order of the epoch that begins.
__device__ inline void shuffle_rows(const Block& block) {
  const Plan& plan = block.plan;
  const int epoch = block.step.epoch, count = plan.n_shuffles, place = epoch % count;
  if (place == 0) {
    if (warp_of() == 0) draw_shuffles(block);
    __syncthreads();
  }
  const int* from = order_of(block, epoch + 1);
  int* to = order_of(block, epoch);
  const int* places = block.pools.shuffle + plan.shuffle + place;
  for (int i = threadIdx.x; i < plan.n_rows; i += kThreads)
    to[i] = from[places[static_cast<i64>(i) * count]];
  __syncthreads();
}
