// The losses, as src/dln/train/losses.py numbers them. Each is a struct in head.h.
#pragma once

namespace dln {

enum class Loss : int {
  cross_entropy = 0,
  squared = 1,
  absolute = 2,
  quantile = 3,
  poisson = 4,
  gamma = 5
};
constexpr int kLosses = 6;

// Whether targets are numbers, not classes.
constexpr bool is_of_number(Loss loss) { return loss != Loss::cross_entropy; }

}  // namespace dln
