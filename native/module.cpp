// The Python module dln._native.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "levels.h"

namespace nb = nanobind;

void bind_program(nb::module_& module);     // predict/program.cpp
void bind_population(nb::module_& module);  // train/population.cpp
void bind_search(nb::module_& module);      // search/bind.cpp
void bind_splits(nb::module_& module);      // encode/splits.cpp
void bind_trees(nb::module_& module);       // trees/grow.cpp

NB_MODULE(_native, module) {
  // Circuits may live until the interpreter ends. nanobind would report them as leaks on stderr.
  nb::set_leak_warnings(false);
  module.doc() = "Train networks, evaluate circuits and search their rows. Every argument is checked before use.";
  module.def("levels", [] {
    std::vector<std::string> names;
    for (dln::Level level : dln::available_levels()) names.push_back(dln::level_name(level));
    return names;
  }, "Instruction-set levels that run here, slowest first.");
  bind_program(module);
  bind_population(module);
  bind_search(module);
  bind_splits(module);
  bind_trees(module);
}
