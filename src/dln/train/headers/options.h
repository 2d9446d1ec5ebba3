// The options of a training run, as native code and CUDA read them. Generated from
// src/dln/train/options.py by DLN_WRITE_DOCS=1 pytest tests/train/test_options.py
#pragma once

#include "losses.h"

namespace dln {

enum class Phases : int { unified, epochs, batches };
enum class GateGradient : int { hard, mixture };
enum class VoteGradient : int { soft, hard };
enum class LastBatch : int { spread, drop };
enum class ValidationScore : int { validation, both };

struct Options {
  // Seed of the order of the rows and of Gumbel noise.
  unsigned long long seed;
  // Train gates and links together, or alternate by epochs (the paper) or by batches.
  Phases phases;
  // Gradient that passes through a gate: that of its most likely function (the authors' program),
  // or that of the mixture of its functions (the paper's formula).
  GateGradient gate_gradient;
  // Gradient from votes to rules while links are trained: that of the sigmoids of all vote links,
  // or that of the links that are on (the authors' program).
  VoteGradient vote_gradient;
  // Rows that do not fill a batch: batches of nearly equal size hold all rows, or the rest is
  // dropped in each epoch (the authors' program).
  LastBatch last_batch;
  // What the best epoch is chosen by: balanced accuracy on validation rows, or its sum with that
  // on training rows (the authors' program).
  ValidationScore validation_score;
  // Record all parameters in `traces_` every `trace_every` epochs.
  int trace_every;
  // Number of passes over the training rows.
  int epochs;
  // Number of rows in a batch.
  int batch_size;
  // Epochs between two evaluations on validation rows; 0: never.
  int eval_every;
  // Epochs without improvement before stopping; 0: never.
  int patience;
  // Whether to restore the parameters of the best evaluation at the end.
  int keep_best;
  // Epochs before the phase changes.
  int phase_epochs;
  // What is minimised, see losses.h.
  Loss loss;
  // Adam's initial learning rate.
  float learning_rate;
  // Final learning rate as a fraction of the initial one.
  float final_rate;
  // Learning rate of thresholds and slopes as a fraction of the learning rate.
  float threshold_rate;
  // Multiplies the gradient after each layer in the backward pass.
  float grad_factor;
  // The votes are divided by tau before the softmax.
  float tau;
  // Learning rate of the weights of rules that predict a number, as a fraction of the learning
  // rate.
  float weight_rate;
  // Smallest logit for which a vote link is on.
  float vote_limit;
  // Level of the quantile that the quantile loss fits.
  float quantile_level;
};
static_assert(sizeof(Options) == 96, "compiled.py must have the same record");

// The smallest and the largest value of each option.
#define DLN_LIMITS(LIMIT) \
  LIMIT(phases, 0, 2) \
  LIMIT(gate_gradient, 0, 1) \
  LIMIT(vote_gradient, 0, 1) \
  LIMIT(last_batch, 0, 1) \
  LIMIT(validation_score, 0, 1) \
  LIMIT(trace_every, 0, 1000000000) \
  LIMIT(epochs, 1, 10000000) \
  LIMIT(batch_size, 1, 1000000000) \
  LIMIT(eval_every, 0, 1000000000) \
  LIMIT(patience, 0, 1000000000) \
  LIMIT(keep_best, 0, 1) \
  LIMIT(phase_epochs, 1, 1000000000) \
  LIMIT(learning_rate, 0, 1000) \
  LIMIT(final_rate, 0, 1) \
  LIMIT(threshold_rate, 0, 1000) \
  LIMIT(grad_factor, 0, 1000000) \
  LIMIT(tau, 0.001, 1000000) \
  LIMIT(weight_rate, 0, 1000) \
  LIMIT(vote_limit, -1000000, 1000000) \
  LIMIT(quantile_level, 0, 1)

}  // namespace dln
