// The data of a trainer: a table, a flat network and the options of one training run.
//
// Wires are numbered once: literals first, then gates in topological order. A gate holds a logit
// for each gate function of the subspace and, for each of its two inputs, a list of candidate
// wires with a logit each. The paper's layers are only a way to fill those lists.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "literal_kinds.h"
#include "options.h"

namespace dln {

enum class Phase : uint8_t { gates = 0, links = 1, both = 2 };

// Rows of values (n_rows x n_columns), NaN if missing, with a target and a weight for each row. The
// target is a class or a number, so one of the two arrays is null. The offset
// (n_rows x n_outputs) is added to the points. It is null if it is 0.
struct Table {
  const float* cells;
  const int32_t* classes;
  const float *numbers, *offset;
  const float* weight;
  int64_t n_rows;
  int32_t n_columns;
};

// Numbers of rows, in an array owned by the caller.
struct RowList {
  const int64_t* data;
  int64_t size;
};

// Arrays owned by the caller; the logits, cutoffs and slopes are trained in place.
struct Network {
  int32_t n_literals, n_gates, n_links, n_choices, n_rules, n_classes, n_layers;
  const int32_t* layer_start;     // (n_layers + 1) the first gate of each layer, then all gates
  const uint8_t* literal_kind;    // (n_literals)
  const int32_t* literal_column;  // (n_literals)
  const int32_t* literal_layer;   // (n_literals) the layer with which it freezes
  float* literal_value;           // (n_literals) cutoff, or category code
  float* slope;                   // (n_literals)
  const int32_t* link_wire;       // (n_gates, 2, n_links)
  float* link_logit;              // (n_gates, 2, n_links)
  const uint8_t* gate_choice;     // (n_choices) gate codes
  float* gate_logit;              // (n_gates, n_choices)
  const int32_t* rule_wire;       // (n_rules)
  float* vote_logit;              // (n_classes, n_rules)
  // A network that predicts a number has no classes, and weights in place of votes. The last weight
  // is the bias.
  float* weight;              // (n_rules + 1), null in a network for classes
  const float* weight_limit;  // (2, n_rules + 1) the smallest and the largest value

  bool predicts_number() const { return weight != nullptr; }
  int n_outputs() const { return predicts_number() ? 1 : n_classes; }
  int n_weights() const { return predicts_number() ? n_rules + 1 : 0; }
};

// Settings that change from epoch to epoch.
struct Schedule {
  std::vector<float> temperature;     // (epochs) divides the logits of gates and links
  std::vector<int32_t> layer_freeze;  // (n_layers) the epoch at whose start a layer is fixed
  int32_t vote_freeze = 0;            // the same for the votes
  int32_t prune_first = 0, prune_last = 0;  // epochs at whose start gates may be pruned
  std::vector<int32_t> layer_prune;   // (n_layers) how many gates may be pruned in total
  float convergence = 0.0f;           // a gate below this probability may be pruned
};

struct EpochRecord {
  // Scores are balanced accuracies of classes, or minus the loss of numbers; NaN if not evaluated.
  float loss, train_score, valid_score;
  float live_gates;  // gates that some vote depends on
};

struct Job {
  Table table;
  Network network;
  Options options;
  Schedule schedule;
  RowList rows, valid_rows;
  std::vector<EpochRecord> history;
  std::vector<float> trace;  // parameters, record after record
  std::vector<int32_t> trace_epochs;  // epochs done at each record
  int32_t best_epoch = -1;
  std::atomic<int32_t> epochs_done{0};
  std::atomic<double> epochs_visited{0.0};  // with the part of an epoch that is under way
  // The state of a run, from which another process can continue it. It is saved once before the
  // first batch from number `state_from` on, and at the end if `keeps_state` is set. `start` is a
  // state to continue from; empty: none.
  static constexpr int64_t kNoState = std::numeric_limits<int64_t>::max();
  bool keeps_state = false;
  std::atomic<int64_t> state_from{kNoState};
  std::mutex state_mutex;
  std::vector<char> state, start;
};

// The gradient of the weighted mean loss of some rows, in the shapes of Network's arrays.
struct Gradients {
  explicit Gradients(const Network& n)
      : cutoff(n.n_literals), slope(n.n_literals),
        link_logit(static_cast<size_t>(n.n_gates) * 2 * n.n_links),
        gate_logit(static_cast<size_t>(n.n_gates) * n.n_choices),
        vote_logit(static_cast<size_t>(n.n_classes) * n.n_rules), weight(n.n_weights()) {}

  std::vector<float> cutoff, slope, link_logit, gate_logit, vote_logit, weight;
  float loss = 0.0f;
};

// Make room for n more values at the end of the trace. Compiled once for all levels: see buffer.h.
float* grow_trace(Job& job, size_t n);

// Save the state of a trainer with what the job has recorded, and read it: see state.h.
void save_state(Job& job, const char* trainer, size_t n);

#define DLN_DECLARE_LEVEL(level)                                                        \
  namespace level {                                                                     \
  void train(Job& job, const std::atomic<bool>& stop);                                  \
  void gradients(Job& job, RowList rows, Phase phase, Gradients& out);                  \
  void points(Job& job, RowList rows, float* out);                                      \
  void order(RowList rows, uint64_t seed, int64_t window, int64_t block, int64_t* out); \
  }
DLN_DECLARE_LEVEL(generic)
DLN_DECLARE_LEVEL(avx2)
DLN_DECLARE_LEVEL(avx512)
#undef DLN_DECLARE_LEVEL

}  // namespace dln
