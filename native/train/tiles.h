// Rows of candidates (links of an input, functions of a gate), stored in tiles of 16 rows.
//
// In a tile, lane i of every vector belongs to row i. So a softmax, an argmax or a gradient over
// the candidates is a loop over vectors that never crosses lanes.
#pragma once

#include <vector>

#include "adam.h"
#include "simd.h"

namespace dln::DLN_LEVEL {

inline int tiles(int n) { return (n + kLanes - 1) / kLanes; }

// [tile][candidate][lane] of the arrays that hold one row of candidates per input or gate.
struct TileLayout {
  int n, n_candidates;
  size_t size() const { return static_cast<size_t>(tiles(n)) * n_candidates * kLanes; }
  size_t tile_start(int tile) const { return static_cast<size_t>(tile) * n_candidates * kLanes; }
  size_t at(int i, int candidate) const {
    return (static_cast<size_t>(i / kLanes) * n_candidates + candidate) * kLanes + i % kLanes;
  }
  void pack(const float* rows, Floats& tiled) const {
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n_candidates; ++k) tiled[at(i, k)] = rows[i * n_candidates + k];
  }
  void unpack(const Floats& tiled, float* rows) const {
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n_candidates; ++k) rows[i * n_candidates + k] = tiled[at(i, k)];
  }
};

// Softmax of one tile over its candidates, and the candidate with the largest logit per lane.
inline v16i softmax_tile(const float* logits, float* probabilities, int n_candidates,
                         float inverse_temperature) {
  v16f top = load(logits);
  v16i best = fill(0);
  for (int k = 1; k < n_candidates; ++k) {
    const v16f logit = load(logits + k * kLanes);
    best = select(top < logit, fill(k), best);
    top = larger(logit, top);
  }
  v16f total = {};
  for (int k = 0; k < n_candidates; ++k) {
    const v16f e =
        exp_nonpositive((load(logits + k * kLanes) - top) * fill(inverse_temperature));
    store(probabilities + k * kLanes, e);
    total += e;
  }
  const v16f scale = fill(1.0f) / total;
  for (int k = 0; k < n_candidates; ++k)
    store(probabilities + k * kLanes, load(probabilities + k * kLanes) * scale);
  return best;
}

// Make the choice of one lane final: all its probability goes to its best candidate.
inline void settle_lane(float* probabilities, int n_candidates, int lane, int best) {
  for (int k = 0; k < n_candidates; ++k) probabilities[k * kLanes + lane] = k == best ? 1.0f : 0.0f;
}

// From d loss / d mixture weight to d loss / d logit, in place: p (G - sum p G) / temperature.
// It is exactly 0 for a lane whose choice is final.
inline void softmax_gradient_tile(const float* probabilities, float* gradient, int n_candidates,
                                  float inverse_temperature) {
  v16f mean = {};
  for (int k = 0; k < n_candidates; ++k)
    mean += load(probabilities + k * kLanes) * load(gradient + k * kLanes);
  for (int k = 0; k < n_candidates; ++k) {
    const v16f p = load(probabilities + k * kLanes);
    store(gradient + k * kLanes,
          p * (load(gradient + k * kLanes) - mean) * fill(inverse_temperature));
  }
}

}  // namespace dln::DLN_LEVEL
