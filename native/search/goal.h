// A question about a box: the demands that a row must fulfil, the answer, and when to stop.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "problem.h"

namespace dln::search {

constexpr Number infinite = std::numeric_limits<Number>::max() / 4;

struct Demand {
  int more, less;  // classes
  Number by;       // votes[more] - votes[less] >= by
};

// That a class is chosen rather than another one. A tie goes to the class that is listed first.
inline Demand demand_of(int rival, int winner) { return {rival, winner, rival < winner ? 0 : 1}; }

enum class Status { none, found, unknown };  // no row; a row; the limit was reached

struct Answer {
  Status status = Status::none;
  std::vector<std::int32_t> row;  // the atom of each column
  Number cost = 0;
};

struct Limit {
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
  std::int64_t n_nodes = std::numeric_limits<std::int64_t>::max();

  // From now on; 0 nodes mean no limit of nodes.
  static Limit of(double seconds, std::int64_t n_nodes) {
    Limit limit;
    if (std::isfinite(seconds) && seconds < 1e9)
      limit.end = std::chrono::steady_clock::now() +
                  std::chrono::microseconds(static_cast<std::int64_t>(std::max(0.0, seconds) * 1e6));
    if (n_nodes > 0) limit.n_nodes = n_nodes;
    return limit;
  }
};

}  // namespace dln::search
