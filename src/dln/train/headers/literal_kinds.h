// The kinds of literals, as LiteralKind in src/dln/core/literals.py numbers them, for the predictor,
// the trainer and the CUDA kernel. In training, a set of categories is one number: see
// src/dln/encode/bits.py.
#pragma once

namespace dln {

enum class LiteralKind : unsigned char { above = 0, among = 1, missing = 2 };
constexpr int kLiteralKinds = 3;

}  // namespace dln
