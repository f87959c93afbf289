// Losses: of one row, with the gradient of its outputs and how well the row did.
//
// A new loss of numbers is one more struct with `value`, `slope` and `success` in loss.cpp, a name here and a case in
// `row_loss`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace gcwsnet {

enum class Loss {
  kCrossEntropy,  // of softmax, for class numbers
  kSquaredError,  // means over the outputs, for numbers
  kAbsoluteError,
  kHuber,               // half the square up to 1, then linear
  kBinaryCrossEntropy,  // of the sigmoid of each output, for numbers that are 0 or 1
};

std::optional<Loss> loss_named(const std::string& name);
inline bool is_of_classes(Loss loss) { return loss == Loss::kCrossEntropy; }

// What rows are to be: class numbers, or numbers [n][n_outputs]. The other is null.
struct Targets {
  const std::int64_t* classes = nullptr;
  const float* numbers = nullptr;
};

// The successes of a row: 1 if its largest output is its class; or for each output its squared error, with the binary
// cross-entropy 1 if it is positive where the number is 1.
inline std::size_t n_successes(Loss loss, std::size_t n_outputs) { return is_of_classes(loss) ? 1 : n_outputs; }

// The loss of the outputs of row number `row`. Writes its successes and, unless null, the gradient of factor * loss.
// Infinite or NaN if an output is, or if the gradient is no float.
double row_loss(Loss loss, const float* outputs, std::size_t n_outputs, const Targets& targets, std::size_t row,
                double factor, double* successes, float* gradient);

// probabilities = softmax of the outputs; NaN if one of them is infinite or NaN
void softmax(const float* outputs, std::size_t n, double* probabilities);

}  // namespace gcwsnet
