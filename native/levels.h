// Instruction-set levels: the kernels are compiled once per level and chosen at run time.
//
// Promise: every level computes the same bits. Levels differ only in speed.
#pragma once

#include <string>
#include <vector>

namespace dln {

enum class Level { generic, avx2, avx512 };

// The levels that this build contains and this processor supports, slowest first.
std::vector<Level> available_levels();

std::string level_name(Level level);

// Find a level by name; the empty name means the fastest. Throws std::invalid_argument.
Level find_level(const std::string& name);

}  // namespace dln
