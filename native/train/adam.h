// Parameters with the state of the Adam optimiser, and its steps.
#pragma once

#include <algorithm>
#include <cmath>

#include "buffer.h"

namespace dln::DLN_LEVEL {

// Parameters with their gradient and Adam's two moments.
struct Parameters {
  Floats value, gradient, first, second;

  void resize(size_t n) {
    value.assign(n, 0.0f);
    gradient.assign(n, 0.0f);
    first.assign(n, 0.0f);
    second.assign(n, 0.0f);
  }
  void clear_gradient() { std::fill(gradient.begin(), gradient.end(), 0.0f); }
};

// Adam's bias-corrected rate and epsilon for the t-th step of a group of parameters.
struct AdamStep {
  static constexpr float kFirst = 0.9f, kSecond = 0.999f;
  double first_power = 1.0, second_power = 1.0;
  float scale = 0.0f, epsilon = 0.0f;

  void advance() {
    first_power *= kFirst;
    second_power *= kSecond;
    const double correction = std::sqrt(1.0 - second_power);
    scale = static_cast<float>(correction / (1.0 - first_power));
    epsilon = static_cast<float>(1e-8 * correction);
  }

  void apply(Parameters& p, float rate) const { apply(p, rate, 0, p.value.size()); }

  // Only the parameters from `start` to before `end`.
  void apply(Parameters& p, float rate, size_t start, size_t end) const {
    const float step = rate * scale, tiny = epsilon;
    float* __restrict value = p.value.data();
    float* __restrict first = p.first.data();
    float* __restrict second = p.second.data();
    const float* __restrict gradient = p.gradient.data();
    for (size_t i = start; i < end; ++i) {
      first[i] = kFirst * first[i] + (1.0f - kFirst) * gradient[i];
      second[i] = kSecond * second[i] + (1.0f - kSecond) * gradient[i] * gradient[i];
      value[i] -= step * first[i] / (std::sqrt(second[i]) + tiny);
    }
  }
};

}  // namespace dln::DLN_LEVEL
