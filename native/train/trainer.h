// Train one network: forward through the hard circuit, backward through its relaxation, Adam.
//
// A block is 64 rows: a wire's values are the bits of one word, a gradient is four vectors of 16
// floats. Parameters are stored in tiles (tiles.h). kernel.cpp has the set-up and the training
// loop, forward.cpp and backward.cpp the two passes, schedule.cpp the changes between epochs.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "adam.h"
#include "buffer.h"
#include "order.h"
#include "random.h"
#include "simd.h"
#include "tiles.h"
#include "kernel.h"
#include "head.h"  // after the lanes of simd.h

namespace dln::DLN_LEVEL {

using Gradient = v16f[kChunks];  // of one wire, for the rows of a block

struct Bilinear {
  float c0, c1, c2, c3;  // c0 + c1 a + c2 b + c3 ab
};

inline Bilinear bilinear(uint8_t code) {
  struct All {
    Bilinear of[16];
    constexpr All() : of() {
      for (int i = 0; i < 16; ++i) {
        const float t00 = i >> 3 & 1, t01 = i >> 2 & 1, t10 = i >> 1 & 1, t11 = i & 1;
        of[i] = {t00, t10 - t00, t01 - t00, t00 - t01 - t10 + t11};
      }
    }
  };
  static constexpr All all;
  return all.of[code];
}

// Where a run is: the next batch, and what the batches before it left.
struct Position {
  int32_t epoch = 0;
  int64_t batch = 0, batch_number = 0;
  double step = 0.0, best = -std::numeric_limits<double>::infinity();
};

class Trainer {
 public:
  explicit Trainer(Job& job)
      : job_(job), net_(job.network), options_(job.options), random_(job.options.seed),
        order_(job.rows.data, job.rows.size), n_wires_(net_.n_literals + net_.n_gates),
        n_inputs_(2 * net_.n_gates),
        link_layout_{n_inputs_, net_.n_links}, gate_layout_{net_.n_gates, net_.n_choices} {
    allocate();
    pack();
    refresh_gates();
    refresh_links();
    refresh_votes();
  }

  void run(const std::atomic<bool>& stop);
  void gradients(RowList rows, Phase phase, Gradients& result);
  void points(RowList rows, float* out);

 private:
  // Set-up.
  void allocate();
  void pack();
  void unpack();
  void list_readers();
  void list_columns();

  // One step.
  bool accumulate(const int64_t* rows, int n, const int64_t* end, Phase phase);
  void prefetch(const int64_t* rows, const int64_t* end) const;
  void load_block(const int64_t* rows, int n);
  void load_offsets(const int64_t* rows, int n);
  void forward();
  void add_points();
  void count_votes();
  void add_weights();
  void loss_gradient(float scale, double& total);
  void score_block(int n);
  void backward(Phase phase);
  void backward_votes(bool soft);
  void backward_weights(bool trains);
  void add_rule_sums(const Gradient& d, int count, float* gradient);
  void backward_gates(Phase phase);
  void backward_gate(int gate, Phase phase, const Gradient& d);
  void backward_gate_tile(int tile);
  void backward_link_tile(int tile);
  void backward_literals(bool soft);
  bool collect(int wire, bool soft, Gradient& d);
  void pass_on(int wire, const Gradient& d);
  void clear_gradients(Phase phase);
  void finish_gate_tile(int tile);
  void finish_link_tile(int tile);
  void finish_votes();
  void update(Phase phase, float rate);

  // Values derived from the parameters.
  void refresh_gates();
  void refresh_gate_tile(int tile);
  void refresh_links();
  void refresh_link_tile(int tile);
  void refresh_votes();
  void refresh_weights();

  // Settings that change from epoch to epoch.
  void begin_epoch(int epoch);
  void freeze_layer(int layer);
  void freeze_votes();
  bool prune(int epoch);
  bool try_to_prune(int gate, Buffer<int32_t>& n_left);
  void record_trace(int epochs_done);

  // The state of a run.
  template <typename Archive>
  void each_part(Archive& archive, Position& at);
  void save_state(Position at);
  void load_state(Position& at);
  void replay_order(const Position& at);

  // Bookkeeping.
  int64_t batches() const;
  int64_t batch_start(int64_t batch) const;
  int64_t batch_end(int64_t batch) const;
  Phase phase_of(int epoch, int64_t batch) const;
  void finish();
  double evaluate(RowList rows);
  int live_gates() const;
  // The points of 16 rows of the block, from `row` on.
  Points points_of(int row) { return {&score_[row], kRows, net_.n_outputs()}; }
  // The targets of these rows, in the type that a loss expects.
  v16i targets(int row, v16i) const { return load(class_ + row); }
  v16f targets(int row, v16f) const { return load(number_ + row); }
  bool stopped() const { return stop_ && stop_->load(std::memory_order_relaxed); }
  bool trains_literal(int wire) const {
    return LiteralKind(net_.literal_kind[wire]) == LiteralKind::above &&
           !layer_frozen_[net_.literal_layer[wire]];
  }

  Job& job_;
  Network& net_;
  const Options& options_;
  Random random_;
  const std::atomic<bool>* stop_ = nullptr;  // read before every block
  RowOrder order_;                           // the rows of the job, shuffled again in each epoch
  const int n_wires_, n_inputs_;
  const TileLayout link_layout_, gate_layout_;
  int n_rules_padded_ = 0;

  Parameters cutoffs_, slopes_, gate_logits_, link_logits_, vote_logits_, weights_;
  Floats weight_low_, weight_high_;  // (padded n_weights)
  AdamStep gate_steps_, link_steps_;

  Buffer<int32_t> link_wire_;                            // tiled, as link_logits_
  Buffer<int32_t> reader_start_, reader_slot_, reader_input_;  // by wire: its possible readers
  Floats link_probability_, gate_probability_;                // tiled
  Buffer<int32_t> source_;                               // (n_inputs) the hard link
  Buffer<uint8_t> code_;                                 // (n_gates) the hard gate
  Buffer<Bilinear> mixture_;  // (n_gates) expected gate function, if requested
  Buffer<Bilinear> choice_;                              // (n_choices)
  Floats vote_weight_;                                        // (n_classes, n_rules_padded) soft
  Buffer<int32_t> rule_wire_;   // (n_rules + 1) the last one is a wire that is always 1
  Buffer<Buffer<int32_t>> voters_;  // by output: rules whose link is on, or whose weight is not 0

  Buffer<int32_t> columns_;            // that a literal reads, in order
  Buffer<int32_t> cell_of_;            // (n_literals) the place of a literal's column in cells_
  Buffer<int32_t> fetched_;            // columns in every cache line of a row that is read
  Floats cells_;                       // (columns_, 64)
  int32_t class_[kRows];
  float number_[kRows], weight_[kRows];
  Floats offset_;                      // (n_outputs, 64) added to the points
  Buffer<uint64_t> bits_;         // (n_wires + 1), the last one is always 1
  Floats score_;                       // (n_outputs, 64), then its gradient
  Floats input_gradient_;              // (padded n_inputs, 64)
  Floats wire_gradient_;               // (n_wires, 64), valid where reached_
  Buffer<uint8_t> reached_;       // (n_wires)
  Floats gate_sums_;                   // [tile][4][lane]: sums of g, ga, gb, gab
  LaneSums partial_[4];                // the same for one tile and block
  Buffer<uint8_t> input_active_;       // (padded n_inputs) whether the input has a gradient
  Buffer<int32_t> active_readers_;     // of one wire

  float inverse_temperature_ = 1.0f;
  Buffer<uint8_t> layer_frozen_;       // (n_layers)
  Buffer<uint8_t> gate_frozen_;        // (n_gates)
  Buffer<uint8_t> gate_pruned_;        // (n_gates)
  bool any_frozen_ = false, votes_frozen_ = false;

  double loss_ = 0.0, weight_total_ = 0.0;
  Buffer<int64_t> right_, total_;
};

}  // namespace dln::DLN_LEVEL
