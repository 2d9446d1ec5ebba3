// The losses, as src/dln/train/losses.py numbers them. Each is a struct in head.h.
#pragma once

namespace dln {

enum class Loss : int { cross_entropy = 0 };
constexpr int kLosses = 1;

}  // namespace dln
