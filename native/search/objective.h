// The objective of a goal: costs plus multipliers times unfulfilled votes, as a table of each factor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goal.h"
#include "problem.h"

namespace dln::search {

class Objective {
 protected:
  static constexpr Number scale = 256;  // units of a vote, so that messages can be fractions

  explicit Objective(const Problem& problem)
      : p_(problem), weight_(problem.n_classes), objective_(problem.table.front().size()),
        stamp_(problem.factors.size(), -1) {}

  // Take over a goal, and list the classes that it names.
  void set_goal(const std::vector<Demand>& goal) {
    goal_ = &goal;
    asked_.clear();
    for (const Demand& demand : goal) asked_.insert(asked_.end(), {demand.more, demand.less});
    std::sort(asked_.begin(), asked_.end());
    asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
  }

  void set_objective() {
    const std::vector<Number> before = weight_;
    const Number violation_before = violation_;
    std::fill(weight_.begin(), weight_.end(), 0);
    constant_ = 0;
    Number total = 0;
    for (std::size_t d = 0; d < goal_->size(); ++d) {
      const Demand& demand = (*goal_)[d];
      weight_[demand.more] -= multiplier_[d];
      weight_[demand.less] += multiplier_[d];
      constant_ += multiplier_[d] * demand.by;
      total += multiplier_[d];
    }
    weighted_.clear();
    for (int c = 0; c < p_.n_classes; ++c)
      if (weight_[c]) weighted_.push_back(c), constant_ += weight_[c] * p_.base[c];
    violation_ = p_.has_definitions ? 4 * (total * p_.vote_sum + most_cost_ + 1) : 0;
    if (weight_ != before || violation_ != violation_before) ++objective_number_;
  }

  Number value_at(const Factor& factor, std::size_t cell) const {
    cell += factor.first_cell;
    if (factor.output >= 0) return p_.table[0][cell] ? violation_ : 0;
    Number sum = 0;
    for (int c : weighted_) sum += weight_[c] * p_.table[c][cell];
    return sum;
  }

  const Number* values_of(std::size_t f) {
    const Factor& factor = p_.factors[f];
    Number* values = objective_.data() + factor.first_cell;
    if (stamp_[f] != objective_number_) {
      std::fill(values, values + factor.n_cells, 0);
      if (factor.output >= 0) {
        for (std::size_t cell = 0; cell < factor.n_cells; ++cell) values[cell] = value_at(factor, cell);
      } else {
        for (int c : weighted_) {
          const Number* votes = p_.table[c].data() + factor.first_cell;
          for (std::size_t cell = 0; cell < factor.n_cells; ++cell) values[cell] += weight_[c] * votes[cell];
        }
      }
      stamp_[f] = objective_number_;
    }
    return values;
  }

  // The values of a factor along one variable, given the cell of its first pattern.
  const std::vector<Number>& values_along(std::size_t f, const Place& place, std::size_t cell) {
    const Factor& factor = p_.factors[f];
    along_.resize(place.n_patterns);
    const bool known = stamp_[f] == objective_number_;
    for (int pattern = 0; pattern < place.n_patterns; ++pattern, cell += place.stride)
      along_[pattern] = known ? objective_[factor.first_cell + cell] : value_at(factor, cell);
    return along_;
  }

  Number cost_of(int variable, int atom) const {
    return costs_ && variable < p_.n_columns ? costs_[p_.atom[variable] + atom] : 0;
  }

  int pattern_of(const Place& place, int atom) const { return p_.pattern[place.pattern + atom]; }

  // So that no sum overflows.
  Number most_multiplier() const { return (Number{1} << 40) / p_.vote_sum + 1; }

  static Number lack(const Demand& demand, const std::vector<Number>& votes) {
    return demand.by - votes[demand.more] + votes[demand.less];
  }

  const Problem& p_;
  const std::vector<Demand>* goal_ = nullptr;
  const Number* costs_ = nullptr;
  std::vector<int> asked_;     // the classes that the goal names
  std::vector<int> weighted_;  // those that have a weight
  std::vector<Number> weight_, multiplier_;
  Number constant_ = 0, violation_ = 0, most_cost_ = 0;
  std::int64_t objective_number_ = 0;

 private:
  std::vector<Number> objective_, along_;
  std::vector<std::int64_t> stamp_;  // of each factor: the objective that its values are for
};

}  // namespace dln::search
