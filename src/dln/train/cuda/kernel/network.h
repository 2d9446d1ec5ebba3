// The data of a block: the plan and state of a network, the pools that hold the arrays of all
// networks, and the memory of the block.
//
// Compiled at run time with DLN_THREADS (a block's threads), DLN_BLOCKS (blocks that should fit on
// a multiprocessor), DLN_WORDS (words of 32 rows in one pass) and DLN_SPILL (0: a block's memory is
// shared memory; 1: the parts that grow with rows are in global memory; 2: all). None of them
// changes a result: the order of every sum depends only on the network.
#pragma once

#include "records.h"

constexpr int kThreads = DLN_THREADS, kWarps = kThreads / 32;
constexpr int kMaxWords = DLN_MAX_WORDS;  // the largest DLN_WORDS of any variant
constexpr int kGroup = 8;  // lanes that share a wire, each with four rows of every word
constexpr u32 kAll = 0xffffffffu;
constexpr float kMinSlope = 0.01f;  // Differs from the paper: slopes stay positive

// A parameter, its Adam moments, and the probability of its candidate or vote.
struct Parameter {
  float value, first, second, probability;
};

// The fields have the same order as POOLS in layout.py.
struct Pools {
  const Plan* plans;
  State* states;
  // In the shapes of the parameters.
  Parameter* parameters;
  float *gradient, *best, *trace;
  // By literal, gate, link, wire, rule.
  const int *literal_column, *literal_kind, *literal_freeze;
  const int* gate_freeze;
  float4* mixture;
  float2* pulls;  // (gates, 2, most words) an input's part of its literal's gradients
  int* gate_pruned;
  const int *link_wire, *reader_slot, *reader_input, *reader_start;
  const int *rule_wire, *rule_reader, *rule_start;
  float2* limits;  // (weights) the smallest and the largest value
  const int *layer_start, *layer_prune, *level_start;
  // By epoch, row, batch and class.
  const float* temperature;
  float4* history;
  int *order, *shuffle;
  Batch* batches;
  const int* valid;
  int *right, *total;
  // Tables, one after the other, and the map that advances random numbers by an epoch.
  const float* cells;
  const int* target;  // a class, or the bits of a number
  const float *weight, *offset;  // the offset of each row and output, if a table has one
  const u64* jump;
};

// The memory of a block, for one network.
struct Memory {
  float* gradient;  // (gates, rows + 4) d loss / d gate, and gate_sums
  float* cells;     // (columns, rows)
  float* score;     // (outputs, rows) points, then d loss / d points
  u32* bits;        // (wires, words), or a list of inputs
  u32* words;       // (gates, 2, words) the bits of a gate's inputs
  u32* source;      // (gates, 2) the wires that the inputs read
  u32* chosen;      // (gates, 2) the candidates that these wires are
  u32* rules;       // (rules) the wires that vote
  u8* code;         // (gates) the hard gate
  u8* reached;      // (gates) whether any gradient reaches it through hard links
  u8* votes;        // (classes, rules) whether a vote is on, or (weights) whether it is not 0
  float* shares;    // (classes, rules) the soft weight of a vote, or (weights)
};

// The settings of a step, the same for all threads of a block.
struct Step {
  Phase phase;
  float inverse_temperature;
  float scale;                           // 1 / weight of the batch; 0 if that weight is 0
  float rate, epsilon;                   // of Adam, with bias correction
  int pass, n_passes;                    // a batch of many rows takes several passes
  int epoch;
  __device__ bool trains_gates() const { return phase != kLinks; }
  __device__ bool trains_links() const { return phase != kGates; }
  __device__ bool is_last() const { return pass + 1 == n_passes; }
};

// The data that all functions of a block use.
struct Block {
  const Pools& pools;
  const Plan& plan;
  State& state;
  const Memory memory;
  Step& step;
  int* target;    // (rows) as in Pools
  float* weight;  // (rows)
};

__constant__ Pools network_pools;
extern __shared__ float4 near_memory[];
__shared__ char* far_memory;
__shared__ Plan block_plan;
__shared__ State block_state;
__shared__ Step block_step;
__shared__ Offsets block_offsets;
__shared__ int block_target[kRows];
__shared__ float block_weight[kRows];

__device__ __forceinline__ Block this_block() {
  char* near = reinterpret_cast<char*>(near_memory);
  char* large = DLN_SPILL >= 1 ? far_memory : near;
  char* small = DLN_SPILL >= 2 ? far_memory : near;
  const Offsets& at = block_offsets;
  const Memory memory = {reinterpret_cast<float*>(large + at.gradient),
                         reinterpret_cast<float*>(large + at.cells),
                         reinterpret_cast<float*>(small + at.score),
                         reinterpret_cast<u32*>(small + at.bits),
                         reinterpret_cast<u32*>(small + at.words),
                         reinterpret_cast<u32*>(small + at.source),
                         reinterpret_cast<u32*>(small + at.chosen),
                         reinterpret_cast<u32*>(small + at.rules),
                         reinterpret_cast<u8*>(small + at.code),
                         reinterpret_cast<u8*>(small + at.reached),
                         reinterpret_cast<u8*>(small + at.votes),
                         reinterpret_cast<float*>(small + at.shares)};
  return {network_pools, block_plan, block_state, memory, block_step, block_target, block_weight};
}

// Run a part of a step as a separate function, with separate registers and one copy of its code.
template <void (*part)(const Block&)>
__device__ __noinline__ void call() {
  part(this_block());
}

// NVRTC has no headers that define these.
__device__ inline float infinity() { return __int_as_float(0x7f800000); }
__device__ inline float not_a_number() { return __int_as_float(0x7fc00000); }

__device__ inline int lane_of() { return threadIdx.x & 31; }
__device__ inline int warp_of() { return threadIdx.x >> 5; }

// Return the address, kept in registers. Otherwise the compiler would compute it again at each use.
template <typename T>
__device__ __forceinline__ T* in_registers(T* address) {
  asm volatile("" : "+l"(address));
  __builtin_assume(__isGlobal(address));
  return address;
}

// The sum over a number of neighbouring lanes, a power of two. Called by all lanes of the warp.
template <int kLanes>
__device__ __forceinline__ float group_sum(float x) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(kAll, x, offset);
  return x;
}

__device__ inline double warp_sum(double x) {
  for (int offset = 16; offset > 0; offset >>= 1) x += __shfl_xor_sync(kAll, x, offset);
  return x;
}

// The sum of the rows whose bit is set. There are four partial sums, so that an addition does not
// wait for the one before.
__device__ __forceinline__ float masked_sum(const float* rows, u32 word) {
  asm volatile("" : "+r"(word));  // so that the compiler turns several bits into predicates at once
  const float4 x = *reinterpret_cast<const float4*>(rows);
  float sum[4] = {word & 1 ? x.x : 0.0f, word & 2 ? x.y : 0.0f, word & 4 ? x.z : 0.0f,
                  word & 8 ? x.w : 0.0f};
#pragma unroll
  for (int r = 4; r < 32; r += 4) {
    const float4 x = *reinterpret_cast<const float4*>(rows + r);
    if (word >> r & 1) sum[0] += x.x;
    if (word >> (r + 1) & 1) sum[1] += x.y;
    if (word >> (r + 2) & 1) sum[2] += x.z;
    if (word >> (r + 3) & 1) sum[3] += x.w;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
