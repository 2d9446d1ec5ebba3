// The head of a network, from points to loss, gradient and answer; and its hard gates and votes.
//
// Compiled for every instruction set of the CPU and for CUDA. The file that includes it declares
// lanes first, in the namespace of its level: the types Reals and Integers, with the values of 16
// rows or of one, and the operations fill, load, store, select, larger, exp_nonpositive and log1p.
// Nothing is included here, because CUDA's run-time compiler has no standard headers.
#pragma once

#include "losses.h"

namespace dln::DLN_LEVEL {

// All rows of a word at once: the algebraic normal form of the gate's truth table.
template <typename Word>
DLN_INLINE Word evaluate_gate(unsigned code, Word a, Word b) {
  const auto spread = [](unsigned bit) { return Word{0} - static_cast<Word>(bit & 1u); };
  const unsigned t00 = code >> 3, t01 = code >> 2, t10 = code >> 1, t11 = code;
  return spread(t00) ^ (spread(t00 ^ t10) & a) ^ (spread(t00 ^ t01) & b) ^
         (spread(t00 ^ t01 ^ t10 ^ t11) & a & b);
}

// Whether a rule gives a class a point when it is true. `vote_limit` in network.py gives the limit.
DLN_INLINE bool vote_is_on(float logit, float limit) { return logit >= limit; }

// The points of some rows for each of `count` outputs, `stride` floats apart.
struct Points {
  float* first;
  int stride, count;

  DLN_INLINE Reals get(int output) const { return load(first + output * stride); }
  DLN_INLINE void set(int output, Reals x) const { store(first + output * stride, x); }
};

// The output with the most points; the first wins a tie.
DLN_INLINE Integers best_output(const Points& points) {
  Reals top = points.get(0);
  Integers best = fill(0);
  for (int c = 1; c < points.count; ++c) {
    const Reals x = points.get(c);
    best = select(top < x, fill(c), best);
    top = larger(x, top);
  }
  return best;
}

// A loss is a struct with its settings, the type of a row's target and one function. It returns the
// loss of each row and replaces the points by the gradient of `weight` times the loss.

// The cross-entropy of the softmax of points / tau. The target is the number of a class.
struct Softmax {
  using Target = Integers;
  float tau;

  DLN_INLINE Reals differentiate(const Points& points, Target target, Reals weight) const {
    const Reals inverse_tau = fill(1.0f / tau);
    Reals top = points.get(0);
    for (int c = 1; c < points.count; ++c) top = larger(points.get(c), top);
    Reals chosen = fill(0.0f), others = fill(0.0f);
    for (int c = 0; c < points.count; ++c) {
      const Reals e = exp_nonpositive((points.get(c) - top) * inverse_tau);
      chosen += select(target == fill(c), e, fill(0.0f));
      others += select(target == fill(c), fill(0.0f), e);
      points.set(c, e);
    }
    // The gradient of the true class is minus the sum of the others. If the class is nearly certain,
    // p - 1 would only be a rounding error.
    const Reals total = chosen + others, part = weight / total * inverse_tau;
    for (int c = 0; c < points.count; ++c)
      points.set(c, select(target == fill(c), fill(0.0f) - others, points.get(c)) * part);
    // For the same reason the loss is computed from the odds against the class. The lower bound keeps
    // them finite if the probability of the class underflows.
    return log1p(others / larger(chosen, total * fill(1.17549435e-38f)));
  }
};

// The value of a function at each row, and its derivative.
struct Curve {
  Reals value, slope;
};

// e^x, continued by its tangent above 30. So a bad step of training does not lead to infinity.
DLN_INLINE Curve bounded_exp(Reals x) {
  const Reals limit = fill(30.0f), inside = select(limit < x, limit, x);
  const auto is_negative = inside < fill(0.0f);
  const Reals e = exp_nonpositive(select(is_negative, inside, fill(0.0f) - inside));
  const Reals slope = select(is_negative, e, fill(1.0f) / e);
  return {slope * (fill(1.0f) + (x - inside)), slope};
}

// A loss of one number z, whose target is a number y. `Form` has the loss as a function of z.
template <typename Form>
struct OfNumber {
  using Target = Reals;
  Form form;

  DLN_INLINE Reals differentiate(const Points& points, Target target, Reals weight) const {
    const Curve loss = form.at(points.get(0), target);
    points.set(0, loss.slope * weight);
    return loss.value;
  }
};

struct Squared {
  DLN_INLINE Curve at(Reals z, Reals y) const {
    const Reals error = z - y;
    return {error * error * fill(0.5f), error};
  }
};

// The pinball loss: `above` times the error if z is too large, `below` times the error if it is too
// small. Its minimum is the quantile of level below / (above + below).
struct Pinball {
  float above, below;

  DLN_INLINE Curve at(Reals z, Reals y) const {
    const Reals error = z - y, none = fill(0.0f);
    const Reals slope = select(none < error, fill(above), select(error < none, fill(-below), none));
    return {error * slope, slope};
  }
};

// The deviances of Poisson and gamma distributions of mean e^z, without terms of y alone and halved.
struct Poisson {
  DLN_INLINE Curve at(Reals z, Reals y) const {
    const Curve mean = bounded_exp(z);
    return {mean.value - y * z, mean.slope - y};
  }
};

struct Gamma {
  DLN_INLINE Curve at(Reals z, Reals y) const {
    const Curve inverse = bounded_exp(fill(0.0f) - z);
    return {y * inverse.value + z, fill(1.0f) - y * inverse.slope};
  }
};

// Call `use` with the struct of the loss in the options, which have been checked.
template <typename Options, typename Use>
DLN_INLINE auto with_loss(const Options& options, const Use& use) {
  switch (options.loss) {
    case Loss::cross_entropy: return use(Softmax{options.tau});
    case Loss::squared: return use(OfNumber<Squared>{});
    case Loss::absolute: return use(OfNumber<Pinball>{{1.0f, 1.0f}});
    case Loss::quantile:
      return use(OfNumber<Pinball>{{1.0f - options.quantile_level, options.quantile_level}});
    case Loss::poisson: return use(OfNumber<Poisson>{});
    case Loss::gamma: return use(OfNumber<Gamma>{});
  }
  __builtin_unreachable();
}

}  // namespace dln::DLN_LEVEL
