// The Python class VoteSearch: questions about all rows of a box.
//
// Promise: no argument crashes the interpreter.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "../predict/require.h"
#include "check.h"
#include "problem.h"
#include "reasons.h"
#include "share.h"
#include "solver.h"

namespace dln {
namespace {

using namespace search;

template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object to_numpy(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape, owner));
}

Problem make_problem(const Flat<std::int32_t>& n_atoms, const Flat<std::int32_t>& first_ordered,
                     const Flat<std::int64_t>& factor_start, const Flat<std::int32_t>& scope,
                     const Flat<std::int32_t>& pattern, const Flat<std::int32_t>& output,
                     const Flat<std::int32_t>& table, const Flat<std::int32_t>& base) {
  Problem p;
  p.n_columns = static_cast<int>(first_ordered.size());
  p.n_classes = static_cast<int>(base.size());
  require(p.n_classes >= 1, "there is no class");
  require(n_atoms.size() >= first_ordered.size(), "there are more columns than variables");
  p.base.assign(base.data(), base.data() + base.size());
  p.atom.push_back(0);
  for (std::size_t v = 0; v < n_atoms.size(); ++v) {
    require(n_atoms(v) >= 1 && n_atoms(v) < (1 << 24), "variable ", v, " has ", n_atoms(v), " atoms");
    p.n_atoms.push_back(n_atoms(v));
    p.atom.push_back(p.atom.back() + n_atoms(v));
  }
  for (std::size_t v = 0; v < first_ordered.size(); ++v) {
    require(first_ordered(v) >= -1 && first_ordered(v) <= n_atoms(v), "first_ordered is out of range");
    p.first_ordered.push_back(first_ordered(v));
  }
  p.readers.resize(n_atoms.size());
  require(factor_start.size() == output.size() + 1, "factor_start has the wrong size");
  require(factor_start(0) == 0 && factor_start(output.size()) == static_cast<std::int64_t>(scope.size()),
          "factor_start does not match scope");
  std::size_t at_pattern = 0, at_cell = 0;
  std::vector<std::uint8_t> defined(n_atoms.size(), 0);
  for (int v = 0; v < p.n_columns; ++v) defined[v] = 1;
  for (std::size_t f = 0; f < output.size(); ++f) {
    Factor factor{p.places.size(), 0, at_cell, 1, output(f)};
    require(factor_start(f) <= factor_start(f + 1), "factor_start must not decrease");
    for (std::int64_t s = factor_start(f); s < factor_start(f + 1); ++s) {
      const int v = scope(s);
      require(v >= 0 && v < static_cast<int>(n_atoms.size()), "scope names variable ", v);
      const bool is_output = output(f) >= 0 && s + 1 == factor_start(f + 1);
      require(is_output ? v == output(f) && n_atoms(v) == 2 : defined[v] != 0,
              "factor ", f, " reads variable ", v, " before its definition");
      const std::size_t n = n_atoms(v);
      require(at_pattern + n <= pattern.size(), "pattern is too short");
      int n_patterns = 0;
      for (std::size_t a = 0; a < n; ++a) {
        const int found = pattern(at_pattern + a);
        require(found >= 0 && found < static_cast<int>(n), "a pattern is out of range");
        n_patterns = std::max(n_patterns, found + 1);
      }
      p.places.push_back({v, n_patterns, 0, at_pattern, p.n_messages});
      p.readers[v].push_back(static_cast<int>(p.places.size()) - 1);
      p.factor_of.push_back(static_cast<int>(f));
      p.n_messages += n_patterns;
      at_pattern += n;
      factor.n_cells *= n_patterns;
      require(factor.n_cells <= (1u << 24), "factor ", f, " is too large");
    }
    factor.last_place = p.places.size();
    if (output(f) >= 0) {
      require(output(f) >= p.n_columns && output(f) < static_cast<int>(n_atoms.size()) &&
                  factor.last_place > factor.first_place && p.places.back().variable == output(f) &&
                  p.places.back().n_patterns == 2 && !defined[output(f)],
              "factor ", f, " defines no new variable");
      defined[output(f)] = 1;
      p.has_definitions = true;
    }
    int stride = 1;
    for (std::size_t at = factor.last_place; at-- > factor.first_place;) {
      p.places[at].stride = stride;
      stride *= p.places[at].n_patterns;
    }
    at_cell += factor.n_cells;
    p.factors.push_back(factor);
  }
  require(at_pattern == pattern.size(), "pattern is too long");
  require(at_cell * p.n_classes == table.size(), "table has ", table.size(), " entries; expected ",
          at_cell * p.n_classes);
  for (std::size_t v = p.n_columns; v < n_atoms.size(); ++v)
    require(defined[v] != 0, "variable ", v, " has no definition");
  p.pattern.assign(pattern.data(), pattern.data() + pattern.size());
  p.table.resize(p.n_classes);
  for (int c = 0; c < p.n_classes; ++c) {
    p.table[c].resize(at_cell);
    for (std::size_t cell = 0; cell < at_cell; ++cell) p.table[c][cell] = table(cell * p.n_classes + c);
  }
  for (const Factor& factor : p.factors) {
    Number most = 0;
    for (const std::vector<Number>& votes : p.table)
      for (std::size_t cell = 0; cell < factor.n_cells; ++cell)
        most = std::max(most, std::abs(votes[factor.first_cell + cell]));
    p.vote_sum += 2 * most;
  }
  for (Number vote : p.base) p.vote_sum += 2 * std::abs(vote);
  require(p.vote_sum < (Number{1} << 36), "the votes are too large");
  return p;
}

using Demands = std::vector<std::tuple<int, int, std::int64_t>>;  // class, other class, votes

class VoteSearch {
 public:
  explicit VoteSearch(Problem problem) : problem_(std::move(problem)), solver_(problem_) {}

  // Find a row of a box that fulfils demands (class, other class, votes) at the lowest cost.
  nb::tuple solve(const Flat<std::uint8_t>& allowed,
                  const Demands& demands,
                  const std::optional<Flat<std::int64_t>>& costs, std::optional<std::int64_t> below,
                  double seconds, std::int64_t n_nodes) {
    const Box box = read_box(allowed);
    const std::vector<Demand> goal = read_goal(demands);
    if (costs) {
      require_size(costs->size(), problem_.atom[problem_.n_columns], "costs");
      for (std::size_t i = 0; i < costs->size(); ++i)
        require((*costs)(i) >= 0 && (*costs)(i) < (std::int64_t{1} << 36), "a cost is out of range");
    }
    const Number most = std::clamp<Number>(below.value_or(infinite), 0, infinite);
    Answer answer;
    bool incomplete;
    std::int64_t n_visited;
    {
      nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);  // the solver keeps messages from call to call
      answer = solver_.solve(box, goal, costs ? costs->data() : nullptr, most,
                             Limit::of(seconds, n_nodes));
      incomplete = solver_.incomplete();
      n_visited = solver_.n_nodes();
    }
    nb::object row = nb::none();
    const std::size_t n = answer.row.size();
    if (answer.status == Status::found) row = to_numpy(std::move(answer.row), {n});
    return nb::make_tuple(row, answer.cost, !incomplete, n_visited);
  }

  // Prove that no row of a box fulfils all demands, and return the proof; None if there is such a row
  // or the limit was reached.
  nb::object prove(const Flat<std::uint8_t>& allowed,
                   const Demands& demands, double seconds,
                   std::int64_t n_nodes) {
    const Box box = read_box(allowed);
    const std::vector<Demand> goal = read_goal(demands);
    if (problem_.has_definitions) return nb::none();
    Proof proof;
    Answer answer;
    {
      nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      solver_.record(&proof);
      answer = solver_.solve(box, goal, nullptr, 0, Limit::of(seconds, n_nodes));
      solver_.record(nullptr);
    }
    if (answer.status != Status::none) return nb::none();
    const std::size_t n_tree = proof.tree.size(), n_messages = proof.messages.size();
    const std::size_t n_leaves = static_cast<std::size_t>(proof.n_leaves());
    return nb::make_tuple(to_numpy(std::move(proof.tree), {n_tree}),
                          to_numpy(std::move(proof.messages), {n_messages}),
                          to_numpy(std::move(proof.starts), {n_leaves + 1}),
                          to_numpy(std::move(proof.multipliers), {n_leaves, goal.size()}));
  }

  // Whether a proof of `prove` shows that no row of a box fulfils all demands.
  bool check(const Flat<std::uint8_t>& allowed,
             const Demands& demands,
             const Flat<std::int32_t>& tree, const Flat<std::int64_t>& messages,
             const Flat<std::int64_t>& starts, const Table<std::int64_t>& multipliers) {
    const Box box = read_box(allowed);
    const std::vector<Demand> goal = read_goal(demands);
    require(starts.size() >= 1 && multipliers.shape(0) + 1 == starts.size() &&
                multipliers.shape(1) == goal.size(),
            "the parts of the proof do not match");
    Proof proof;
    proof.tree.assign(tree.data(), tree.data() + tree.size());
    proof.messages.assign(messages.data(), messages.data() + messages.size());
    proof.starts.assign(starts.data(), starts.data() + starts.size());
    proof.multipliers.assign(multipliers.data(), multipliers.data() + multipliers.size());
    nb::gil_scoped_release release;
    return Checker(problem_).check(box, goal, proof);
  }

  // Whether a proof that all rows of a box get a class is found and right.
  bool is_class_checked(const Flat<std::uint8_t>& allowed, int winner, double seconds) {
    const Box box = read_box(allowed);
    require(winner >= 0 && winner < problem_.n_classes, "there is no class ", winner);
    for (int size : box.size) require(size > 0, "the box is empty");
    nb::gil_scoped_release release;
    const ClassProof::Verdict verdict = ClassProof(problem_).check(box, winner, Limit::of(seconds, 0));
    if (verdict == ClassProof::Verdict::wrong) throw std::logic_error("a proof is wrong");
    return verdict == ClassProof::Verdict::right;
  }

  // Bound the weight of the rows of a box that fulfil one of several cases, each of which is a box, of
  // which the hidden columns matter, and demands. Weights are positive in the box, except of hidden
  // columns, and add up to 1 in a column.
  nb::tuple share(const Flat<std::uint8_t>& allowed, const Flat<double>& weights,
                  const Flat<std::uint8_t>& hidden,
                  const std::vector<std::pair<Flat<std::uint8_t>, Demands>>& cases, double seconds,
                  std::int64_t n_boxes, double n_listed) {
    const Box box = read_box(allowed);
    require_size(weights.size(), problem_.atom[problem_.n_columns], "weights");
    require_size(hidden.size(), problem_.n_columns, "hidden");
    require(!cases.empty(), "there is no case");
    for (int v = 0; v < problem_.n_columns; ++v) {
      require(box.size[v] > 0, "the box is empty");
      for (int i = 0; i < box.size[v]; ++i)
        require(hidden(v) || weights(problem_.atom[v] + box.begin(problem_, v)[i]) > 0,
                "an atom of the box has no weight");
    }
    std::vector<Case> read;
    for (const auto& [of_case, demands] : cases) {
      require_size(of_case.size(), problem_.atom[problem_.n_columns], "the box of a case");
      read.push_back({{of_case.data(), of_case.data() + of_case.size()}, read_goal(demands)});
    }
    const std::vector<double> all(weights.data(), weights.data() + weights.size());
    const std::vector<std::uint8_t> flags(hidden.data(), hidden.data() + hidden.size());
    Share found;
    {
      nb::gil_scoped_release release;
      found = Counter(problem_, all, flags, read, n_listed).count(box, Limit::of(seconds, n_boxes));
    }
    return nb::make_tuple(found.lower, found.upper, found.n_boxes);
  }

  // Find a reason for each row (n_rows, n_columns).
  nb::tuple reasons(const Table<std::int32_t>& rows, const Flat<std::uint8_t>& domain,
                    const Flat<double>& ranks, std::int64_t widen_nodes, double seconds,
                    double check_seconds, int n_threads) {
    const std::size_t n_columns = problem_.n_columns, n_rows = rows.shape(0);
    require(rows.shape(1) == n_columns, "rows have ", rows.shape(1), " columns; expected ", n_columns);
    require_size(ranks.size(), n_columns, "ranks");
    const Box box = read_box(domain);
    for (std::size_t i = 0; i < n_rows; ++i)
      for (std::size_t v = 0; v < n_columns; ++v)
        require(rows(i, v) >= 0 && rows(i, v) < problem_.n_atoms[v], "a row has an unknown atom");
    std::vector<Reason> found(n_rows);
    {
      nb::gil_scoped_release release;
      const CellVotes& votes = cell_votes();
      std::atomic<std::size_t> next{0};
      const auto work = [&] {
        Reasoner reasoner(problem_, votes, box);
        for (std::size_t i; (i = next++) < n_rows;)
          found[i] = reasoner.find(rows.data() + i * n_columns, ranks.data(), widen_nodes,
                                   Limit::of(seconds, 0), check_seconds);
      };
      std::vector<std::thread> threads;
      const int n = std::clamp<int>(n_threads, 1, static_cast<int>(std::max<std::size_t>(1, n_rows)));
      for (int t = 1; t < n; ++t) threads.emplace_back(work);
      work();
      for (std::thread& thread : threads) thread.join();
    }
    for (const Reason& reason : found)
      if (reason.is_wrong) throw std::logic_error("a proof is wrong");
    return pack(found);
  }

 private:
  std::vector<Demand> read_goal(const Demands& demands) const {
    require(!demands.empty(), "there is no demand");
    std::vector<Demand> goal;
    for (const auto& demand : demands) goal.push_back(read_demand(demand));
    return goal;
  }

  Demand read_demand(const std::tuple<int, int, std::int64_t>& demand) const {
    const auto& [more, less, by] = demand;
    require(more >= 0 && more < problem_.n_classes && less >= 0 && less < problem_.n_classes,
            "there is no class ", more, " or ", less);
    require(by > -(std::int64_t{1} << 33) && by < (std::int64_t{1} << 33), "a demand is out of range");
    return {more, less, by};
  }

  Box read_box(const Flat<std::uint8_t>& allowed) const {
    require_size(allowed.size(), problem_.atom[problem_.n_columns], "the box");
    Box box;
    box.atoms.resize(problem_.n_all_atoms());
    for (int v = 0; v < problem_.n_variables(); ++v) {
      int size = 0;
      for (int a = 0; a < problem_.n_atoms[v]; ++a)
        if (v >= problem_.n_columns || allowed(problem_.atom[v] + a))
          box.atoms[problem_.atom[v] + size++] = a;
      box.size.push_back(size);
    }
    return box;
  }

  nb::tuple pack(const std::vector<Reason>& found) const {
    const std::size_t n = found.size(), n_columns = problem_.n_columns;
    std::vector<std::uint8_t> kept, allowed, witnessed, flags;
    std::vector<std::int32_t> witnesses;
    for (const Reason& reason : found) {
      kept.insert(kept.end(), reason.kept.begin(), reason.kept.end());
      allowed.insert(allowed.end(), reason.allowed.begin(), reason.allowed.end());
      witnessed.insert(witnessed.end(), reason.witnessed.begin(), reason.witnessed.end());
      for (std::size_t v = 0; v < n_columns; ++v)
        if (reason.witnessed[v])
          witnesses.insert(witnesses.end(), reason.witnesses.begin() + v * n_columns,
                           reason.witnesses.begin() + (v + 1) * n_columns);
      flags.push_back(reason.minimal);
      flags.push_back(reason.widest);
      flags.push_back(reason.checked);
    }
    const std::size_t n_witnesses = n_columns ? witnesses.size() / n_columns : 0;
    const std::size_t n_atoms = problem_.atom[n_columns];
    return nb::make_tuple(to_numpy(std::move(kept), {n, n_columns}),
                          to_numpy(std::move(allowed), {n, n_atoms}),
                          to_numpy(std::move(witnessed), {n, n_columns}),
                          to_numpy(std::move(witnesses), {n_witnesses, n_columns}),
                          to_numpy(std::move(flags), {n, 3}));
  }

  // Made when reasons are first asked for.
  const CellVotes& cell_votes() {
    const std::lock_guard lock(mutex_);
    if (!cell_votes_) cell_votes_.emplace(problem_);
    return *cell_votes_;
  }

  Problem problem_;
  Solver solver_;
  std::optional<CellVotes> cell_votes_;
  std::mutex mutex_;
};

}  // namespace
}  // namespace dln

void bind_search(nb::module_& module) {
  using namespace dln;
  nb::class_<VoteSearch>(module, "VoteSearch")
      .def("__init__",
           [](VoteSearch* self, const Flat<std::int32_t>& n_atoms,
              const Flat<std::int32_t>& first_ordered, const Flat<std::int64_t>& factor_start,
              const Flat<std::int32_t>& scope, const Flat<std::int32_t>& pattern,
              const Flat<std::int32_t>& output, const Flat<std::int32_t>& table,
              const Flat<std::int32_t>& base) {
             new (self) VoteSearch(make_problem(n_atoms, first_ordered, factor_start, scope, pattern,
                                                output, table, base));
           },
           nb::arg("n_atoms"), nb::arg("first_ordered"), nb::arg("factor_start"), nb::arg("scope"),
           nb::arg("pattern"), nb::arg("output"), nb::arg("table"), nb::arg("base"))
      .def("solve", &VoteSearch::solve, nb::arg("allowed"), nb::arg("demands"),
           nb::arg("costs").none(), nb::arg("below").none(), nb::arg("seconds"), nb::arg("n_nodes"))
      .def("prove", &VoteSearch::prove, nb::arg("allowed"), nb::arg("demands"), nb::arg("seconds"),
           nb::arg("n_nodes"))
      .def("check", &VoteSearch::check, nb::arg("allowed"), nb::arg("demands"), nb::arg("tree"),
           nb::arg("messages"), nb::arg("starts"), nb::arg("multipliers"))
      .def("is_class_checked", &VoteSearch::is_class_checked, nb::arg("allowed"), nb::arg("winner"),
           nb::arg("seconds"))
      .def("share", &VoteSearch::share, nb::arg("allowed"), nb::arg("weights"), nb::arg("hidden"),
           nb::arg("cases"), nb::arg("seconds"), nb::arg("n_boxes"), nb::arg("n_listed"))
      .def("reasons", &VoteSearch::reasons, nb::arg("rows"), nb::arg("domain"), nb::arg("ranks"),
           nb::arg("widen_nodes"), nb::arg("seconds"), nb::arg("check_seconds"), nb::arg("n_threads"));
}
