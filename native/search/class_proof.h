// Prove that all rows of a box get a class, and check the proof with other code (check.h).
#pragma once

#include <utility>
#include <vector>

#include "check.h"
#include "solver.h"

namespace dln::search {

class ClassProof {
 public:
  enum class Verdict { none, right, wrong };  // no proof was found; it is right; it is wrong

  explicit ClassProof(const Problem& problem) : p_(problem), checker_(problem) {
    for (int c = 0; c < p_.n_classes; ++c) classes_.push_back(c);
  }

  Verdict check(const Box& box, int winner, const Limit& limit) {
    if (p_.has_definitions) return Verdict::none;
    const Regrouped part = Regrouper(p_, box, classes_).make({});
    Solver solver(part);
    const Box whole = Box::whole(part.problem);
    for (int rival = 0; rival < p_.n_classes; ++rival) {
      if (rival == winner) continue;
      const std::vector<Demand> goal{demand_of(rival, winner)};
      Proof proof;
      solver.record(&proof);
      const Answer answer = solver.solve(whole, goal, nullptr, 0, limit);
      solver.record(nullptr);
      if (answer.status != Status::none) return Verdict::none;
      if (!checker_.check(box, goal, proof)) return Verdict::wrong;
    }
    return Verdict::right;
  }

 private:
  const Problem& p_;
  Checker checker_;
  std::vector<int> classes_;  // all
};

}  // namespace dln::search
