// Save the state of a run, and continue from it.
#include "state.h"

#include <stdexcept>

#include "trainer.h"

namespace dln::DLN_LEVEL {

// Visit everything that a run changes, apart from what follows from it. Gradients are not part of
// it, because a state is saved between two batches.
template <typename Archive>
void Trainer::each_part(Archive& archive, Position& at) {
  archive(at.epoch);
  archive(at.batch);
  archive(at.batch_number);
  archive(at.step);
  archive(at.best);
  for (Parameters* p :
       {&cutoffs_, &slopes_, &gate_logits_, &link_logits_, &vote_logits_, &weights_}) {
    archive(p->value);
    archive(p->first);
    archive(p->second);
  }
  for (AdamStep* steps : {&gate_steps_, &link_steps_}) {
    archive(steps->first_power);
    archive(steps->second_power);
    archive(steps->scale);
    archive(steps->epsilon);
  }
  archive(weight_low_);
  archive(weight_high_);
  archive(inverse_temperature_);
  archive(layer_frozen_);
  archive(gate_frozen_);
  archive(gate_pruned_);
  archive(any_frozen_);
  archive(votes_frozen_);
  archive(loss_);
  archive(weight_total_);
  archive(right_);
  archive(total_);
}

void Trainer::save_state(Position at) {
  StateWriter archive;
  each_part(archive, at);
  dln::save_state(job_, archive.bytes().data(), archive.bytes().size());
}

void Trainer::load_state(Position& at) {
  StateReader archive(job_.start.data(), job_.start.size());
  each_part(archive, at);
  archive.check_end();
  if (at.epoch < 0 || at.epoch > options_.epochs || at.batch < 0 || at.batch > batches())
    throw std::invalid_argument("the state belongs to another run");
  list_readers();
  refresh_gates();
  refresh_links();
  refresh_votes();
  replay_order(at);
  job_.epochs_visited.store(at.epoch + static_cast<double>(at.batch) / batches());
}

// Draw the order of the rows again, up to the next batch.
void Trainer::replay_order(const Position& at) {
  for (int epoch = 0; epoch <= at.epoch && at.epoch < options_.epochs; ++epoch) {
    order_.begin(random_);
    const int64_t end = epoch < at.epoch ? batches() : at.batch;
    for (int64_t batch = 0; batch < end && !stopped(); ++batch)
      order_.take(batch_start(batch), batch_end(batch), random_);
  }
}

}  // namespace dln::DLN_LEVEL
