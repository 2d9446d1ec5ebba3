#include "levels.h"

#include <stdexcept>

namespace dln {

std::vector<Level> available_levels() {
  std::vector<Level> levels{Level::generic};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) {
    levels.push_back(Level::avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      levels.push_back(Level::avx512);
  }
#endif
  return levels;
}

std::string level_name(Level level) {
  switch (level) {
    case Level::avx2: return "avx2";
    case Level::avx512: return "avx512";
    default: return "generic";
  }
}

Level find_level(const std::string& name) {
  const auto levels = available_levels();
  if (name.empty()) return levels.back();
  for (Level level : levels)
    if (level_name(level) == name) return level;
  std::string known;
  for (Level level : levels) known += (known.empty() ? "" : ", ") + level_name(level);
  throw std::invalid_argument("level '" + name + "' is not available here; choose from " + known);
}

}  // namespace dln
