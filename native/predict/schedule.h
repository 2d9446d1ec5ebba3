// Netlist -> steps over slots.
//
// Promise: only nodes that the outputs need are run, each after its inputs. A slot is not
// overwritten while a later step still reads its value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kernel.h"
#include "netlist.h"

namespace dln {

// The steps that the outputs of a netlist need, in order, and the slot of every wire.
struct ScheduledSteps {
  std::vector<StepRun> runs;
  std::vector<Step> steps;
  std::vector<std::uint32_t> slots;  // of each wire; 0 if nothing reads it
  std::uint32_t n_slots = 1;
};

class Scheduler {
 public:
  Scheduler(const Netlist& netlist, std::vector<std::uint32_t> outputs)
      : nodes_(netlist.nodes()), n_inputs_(netlist.n_inputs()), outputs_(std::move(outputs)) {}

  ScheduledSteps schedule() {
    find_needed();
    order_nodes();
    assign_slots();
    return std::move(result_);
  }

 private:
  std::size_t n_wires() const { return n_inputs_ + nodes_.size(); }

  void find_needed() {
    is_needed_.assign(n_wires(), false);
    for (std::uint32_t wire : outputs_) is_needed_[wire] = true;
    for (std::size_t n = nodes_.size(); n-- > 0;)
      if (is_needed_[n_inputs_ + n])
        for (std::uint32_t wire : nodes_[n].wires) is_needed_[wire] = true;
  }

  // Of all nodes whose inputs are ready, run those with the most frequent operation next.
  void order_nodes() {
    std::vector<std::vector<std::uint32_t>> readers(nodes_.size());
    std::vector<int> n_waiting(nodes_.size(), 0);
    std::array<std::vector<std::uint32_t>, n_operations> ready;
    const auto queue = [&](std::uint32_t n) -> auto& {
      return ready[std::size_t(nodes_[n].operation)];
    };
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (!is_needed_[n_inputs_ + n]) continue;
      for (std::uint32_t wire : nodes_[n].wires)
        if (wire >= n_inputs_) {
          readers[wire - n_inputs_].push_back(n);
          ++n_waiting[n];
        }
      if (n_waiting[n] == 0) queue(n).push_back(n);
    }
    const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    for (;;) {
      auto& longest = *std::max_element(ready.begin(), ready.end(), shorter);
      if (longest.empty()) break;
      for (std::size_t i = 0; i < longest.size(); ++i) {  // the queue grows during the loop
        order_.push_back(longest[i]);
        for (std::uint32_t reader : readers[longest[i]])
          if (--n_waiting[reader] == 0) queue(reader).push_back(reader);
      }
      result_.runs.push_back({nodes_[longest[0]].operation, std::uint32_t(longest.size())});
      longest.clear();
    }
  }

  // A slot is free after the last step that reads it. Reusing slots keeps the memory small.
  void assign_slots() {
    constexpr std::size_t never_free = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> last_read(n_wires(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (std::uint32_t wire : nodes_[order_[i]].wires) last_read[wire] = i;
    for (std::uint32_t wire : outputs_) last_read[wire] = never_free;
    last_read[0] = never_free;

    result_.slots.assign(n_wires(), 0);
    for (std::uint32_t wire = 1; wire < n_inputs_; ++wire)
      if (is_needed_[wire]) result_.slots[wire] = result_.n_slots++;
    std::vector<std::uint32_t> free;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto& wires = nodes_[order_[i]].wires;
      const auto slot = [&](int k) { return result_.slots[wires[std::size_t(k)]]; };
      Step step{0, slot(0), slot(1), slot(2)};
      for (std::uint32_t wire : wires)
        if (last_read[wire] == i) {
          free.push_back(result_.slots[wire]);
          last_read[wire] = never_free;  // the step may read it twice
        }
      if (free.empty()) free.push_back(result_.n_slots++);
      step.out = result_.slots[n_inputs_ + order_[i]] = free.back();
      free.pop_back();
      result_.steps.push_back(step);
    }
  }

  const std::vector<Netlist::Node>& nodes_;
  std::uint32_t n_inputs_;
  std::vector<std::uint32_t> outputs_;
  std::vector<bool> is_needed_;
  std::vector<std::uint32_t> order_;
  ScheduledSteps result_;
};

}  // namespace dln
