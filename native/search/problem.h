// The votes of a circuit as tables over the atoms of its columns.
//
// A variable is a column, whose values are its atoms, or an inner wire of a large rule, whose values
// are 0 and 1. A factor is a table of votes over a few variables. It does not distinguish all atoms:
// a pattern is a set of atoms of a variable that have the same votes in the factor. The votes of a
// row are the base votes plus the entry of every factor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dln::search {

using Number = std::int64_t;

struct Place {          // a variable in the scope of a factor
  int variable;
  int n_patterns;
  int stride;           // in the factor's table
  std::size_t pattern;  // the first entry in Problem::pattern, one for each atom
  std::size_t message;  // the first message, one for each pattern
};

struct Factor {
  std::size_t first_place, last_place;  // in Problem::places
  std::size_t first_cell, n_cells;      // in each table of votes
  int output;  // the variable that this factor defines, which is the last one; -1 if it has votes
};

struct Problem {
  int n_columns = 0;
  int n_classes = 0;
  std::vector<int> n_atoms;          // of each variable
  std::vector<std::size_t> atom;     // the first atom of each variable, and the number of all
  std::vector<int> first_ordered;    // of each column: its first ordered atom; -1 for categories
  std::vector<Place> places;
  std::vector<std::int32_t> pattern;
  std::vector<Factor> factors;
  // Of each class: the votes of every cell. Of a definition: 1 for the first class where it is violated.
  std::vector<std::vector<Number>> table;
  std::vector<Number> base;          // (n_classes)
  std::vector<std::vector<int>> readers;  // of each variable: places
  std::vector<int> factor_of;        // of each place
  std::size_t n_messages = 0;
  Number vote_sum = 1;               // no lead of one class over another is larger
  bool has_definitions = false;

  int n_variables() const { return static_cast<int>(n_atoms.size()); }
  std::size_t n_all_atoms() const { return atom.back(); }
};

// A set of rows: the atoms that each variable may have.
struct Box {
  std::vector<std::int32_t> atoms;  // the allowed atoms of a variable, from Problem::atom on
  std::vector<std::int32_t> size;   // the number of allowed atoms

  // All rows of a problem.
  static Box whole(const Problem& problem) {
    Box box;
    for (int n : problem.n_atoms) {
      box.size.push_back(n);
      for (int atom = 0; atom < n; ++atom) box.atoms.push_back(atom);
    }
    return box;
  }

  const std::int32_t* begin(const Problem& problem, int variable) const {
    return atoms.data() + problem.atom[variable];
  }
  void fix(const Problem& problem, int variable, int value) {
    atoms[problem.atom[variable]] = value;
    size[variable] = 1;
  }
  void free(const Problem& problem, int variable, const Box& domain) {
    const std::size_t first = problem.atom[variable];
    size[variable] = domain.size[variable];
    for (int i = 0; i < size[variable]; ++i) atoms[first + i] = domain.atoms[first + i];
  }
};

}  // namespace dln::search
