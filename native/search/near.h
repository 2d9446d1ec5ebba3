// A row near the row that is explained, and its votes, which are updated column by column.
//
// Votes are stored cell by cell, with all classes of a cell together. Along the atoms of an ordered
// column the pattern of a factor changes only at a few cutoffs. So the votes that each atom would
// give are found from the changes at these atoms: a sum for each run of equal patterns, not for each
// atom. Not for problems with definitions, where a column changes inner wires too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "goal.h"
#include "problem.h"

namespace dln::search {

class CellVotes {
 public:
  struct Run {  // atoms that follow each other and have one pattern
    std::int32_t first;   // atom
    std::int32_t offset;  // of the pattern, in the factor's table
  };

  explicit CellVotes(const Problem& problem) : n_classes_(problem.n_classes) {
    const std::size_t n_cells = problem.table.front().size();
    votes_.resize(n_cells * n_classes_);
    for (std::size_t c = 0; c < n_classes_; ++c)
      for (std::size_t cell = 0; cell < n_cells; ++cell)
        votes_[cell * n_classes_ + c] = static_cast<std::int32_t>(problem.table[c][cell]);
    first_run_.push_back(0);
    for (const Place& place : problem.places) {
      const std::int32_t* pattern = problem.pattern.data() + place.pattern;
      for (std::int32_t atom = 0; atom < problem.n_atoms[place.variable]; ++atom)
        if (atom == 0 || pattern[atom] != pattern[atom - 1])
          runs_.push_back({atom, pattern[atom] * place.stride});
      first_run_.push_back(runs_.size());
    }
  }

  const std::int32_t* of_cell(std::size_t cell) const { return votes_.data() + cell * n_classes_; }
  const Run* first_run(int place) const { return runs_.data() + first_run_[place]; }
  const Run* last_run(int place) const { return runs_.data() + first_run_[place + 1]; }

 private:
  std::size_t n_classes_;
  std::vector<std::int32_t> votes_;
  std::vector<Run> runs_;
  std::vector<std::size_t> first_run_;  // of each place
};

class NearRow {
 public:
  NearRow(const Problem& problem, const CellVotes& votes, const std::int32_t* row)
      : p_(&problem), cell_votes_(&votes), x_(row, row + problem.n_columns),
        votes_(problem.base), cells_(problem.factors.size()) {
    for (std::size_t f = 0; f < cells_.size(); ++f) {
      std::size_t cell = p_->factors[f].first_cell;
      for (std::size_t at = p_->factors[f].first_place; at < p_->factors[f].last_place; ++at)
        cell += offset(p_->places[at], x_[p_->places[at].variable]);
      cells_[f] = cell;
      add(cell, 1);
    }
  }

  const std::vector<std::int32_t>& atoms() const { return x_; }
  const std::vector<Number>& votes() const { return votes_; }
  std::size_t cell(int factor) const { return cells_[factor]; }

  // How far a goal is exceeded; negative if votes are lacking.
  Number excess(const Demand& demand) const {
    return votes_[demand.more] - votes_[demand.less] - demand.by;
  }

  void put(int v, std::int32_t atom) {
    if (x_[v] == atom) return;
    for (int at : p_->readers[v]) {
      const Place& place = p_->places[at];
      const std::size_t before = offset(place, x_[v]), after = offset(place, atom);
      if (before == after) continue;
      std::size_t& cell = cells_[p_->factor_of[at]];
      add(cell, -1);
      cell += after - before;
      add(cell, 1);
    }
    x_[v] = atom;
  }

  // The excess with each atom of a column.
  void excess_of_atoms(int v, const Demand& demand, std::vector<Number>& excess_of) const {
    excess_of.assign(p_->n_atoms[v], 0);
    Number constant = excess(demand);
    for (int at : p_->readers[v]) {
      const std::size_t now = cells_[p_->factor_of[at]];
      const std::size_t start = now - offset(p_->places[at], x_[v]);
      Number last = lead(now, demand);
      for (const CellVotes::Run *run = cell_votes_->first_run(at), *end = cell_votes_->last_run(at);
           run != end; ++run) {
        const Number here = lead(start + run->offset, demand);
        excess_of[run->first] += here - last;
        last = here;
      }
    }
    for (Number& value : excess_of) value = constant += value;
  }

 private:
  std::size_t offset(const Place& place, std::int32_t atom) const {
    return static_cast<std::size_t>(p_->pattern[place.pattern + atom]) * place.stride;
  }
  Number lead(std::size_t cell, const Demand& demand) const {
    const std::int32_t* votes = cell_votes_->of_cell(cell);
    return votes[demand.more] - votes[demand.less];
  }
  void add(std::size_t cell, Number sign) {
    const std::int32_t* votes = cell_votes_->of_cell(cell);
    for (std::size_t c = 0; c < votes_.size(); ++c) votes_[c] += sign * votes[c];
  }

  const Problem* p_;
  const CellVotes* cell_votes_;
  std::vector<std::int32_t> x_;
  std::vector<Number> votes_;
  std::vector<std::size_t> cells_;  // of each factor
};

}  // namespace dln::search
