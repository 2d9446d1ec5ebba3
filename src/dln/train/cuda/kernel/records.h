// The records that the host and the GPU share, and the memory layout of a block, as in layout.py. A
// test compiles this file for the host, so nothing here requires a GPU.
#pragma once

#include "literal_kinds.h"
#include "options.h"

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr int kWords = DLN_WORDS, kRows = 32 * kWords;
constexpr int kStride = kRows + 4;  // floats per wire; the padding avoids bank conflicts

enum Phase { kGates = 0, kLinks = 1, kBoth = 2 };

// One network: its options, where its arrays start in the pools, and its sizes. The fields have the
// same order as PLAN in layout.py.
struct Plan : dln::Options {
  i64 parameter, link, literal, gate, wire, rule, layer, level, epoch, row, batch, valid, count;
  i64 trace, cells, table, offset, shuffle, jump, limit;  // offset: -1 without one
  // A network's parameters are one vector: cutoffs, slopes, gate and link logits, and then vote
  // logits, or the weights of a number, the last of which is the bias.
  i64 slopes, gates, links, votes;
  int n_parameters, n_literals, n_gates, n_links, n_choices, n_rules, n_classes, n_weights, n_layers;
  int n_levels, n_columns, n_rows, n_valid, n_batches, n_shuffles;
  int first_freeze, vote_freeze, prune_first, prune_last, rules_on_literals;
  float convergence;
  u8 choice[16];

  // A network that predicts a number has weights and no classes.
  __device__ bool predicts_number() const { return n_weights > 0; }
  __device__ int n_outputs() const { return predicts_number() ? 1 : n_classes; }
  __device__ int n_votes() const { return n_classes * n_rules + n_weights; }
};

// The progress of a network. The fields have the same order as STATE in layout.py.
struct State {
  u64 random[4];
  double best, loss, weight;
  int epoch, batch, best_epoch, n_records, done, unused;
};

// A batch of the current epoch: its weight, the settings of its step, and what is trained. The
// fields have the same order as BATCH in layout.py.
struct Batch {
  double weight;
  float scale, rate, epsilon;
  Phase phase;
};

static_assert(sizeof(Plan) == DLN_PLAN_BYTES && sizeof(State) == DLN_STATE_BYTES &&
                  sizeof(Batch) == DLN_BATCH_BYTES,
              "layout.py must have the same records");

// Where the parts of a block's memory are, see Memory; the same sums as block_bytes in layout.py.
struct Offsets {
  u32 gradient, cells, score, bits, words, source, chosen, rules, code, reached, votes, shares;
};

__device__ inline u32 take(u32& end, i64 n_bytes) {
  const u32 taken = end;
  end += static_cast<u32>((n_bytes + 15) / 16 * 16);
  return taken;
}

__device__ inline Offsets arrange(const Plan& plan) {
  const i64 n_gates = plan.n_gates, n_votes = plan.n_votes();
  u32 near = 0, far = 0;
  u32& large = DLN_SPILL >= 1 ? far : near;
  u32& small = DLN_SPILL >= 2 ? far : near;
  Offsets at;
  at.gradient = take(large, 4 * n_gates * kStride);
  at.cells = take(large, 4 * static_cast<i64>(plan.n_columns) * kStride);
  at.score = take(small, 4 * static_cast<i64>(plan.n_outputs()) * kStride);
  // `bits` also holds a list of inputs, see pull_literals_by_input. With one word per wire, there
  // may be more inputs than wires.
  const i64 n_bits = (plan.n_literals + n_gates) * kWords;
  at.bits = take(small, 4 * (n_bits < 2 * n_gates ? 2 * n_gates : n_bits));
  at.words = take(small, 8 * n_gates * kWords);
  at.source = take(small, 8 * n_gates);
  at.chosen = take(small, 8 * n_gates);
  at.rules = take(small, 4 * static_cast<i64>(plan.n_rules));
  at.code = take(small, n_gates);
  at.reached = take(small, n_gates);
  at.votes = take(small, n_votes);
  at.shares = take(small, 4 * n_votes);
  return at;
}
