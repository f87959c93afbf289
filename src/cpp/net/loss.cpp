#include "net/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exponential.hpp"

namespace gcwsnet {

namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// The loss of an output and a target, its slope, and the success that is counted.
struct OfError {
  static double success(double output, double target) { return (output - target) * (output - target); }
};
struct SquaredError : OfError {
  static double value(double output, double target) { return (output - target) * (output - target); }
  static double slope(double output, double target) { return 2.0 * (output - target); }
};
struct AbsoluteError : OfError {
  static double value(double output, double target) { return std::abs(output - target); }
  static double slope(double output, double target) { return output > target ? 1.0 : output < target ? -1.0 : 0.0; }
};
struct Huber : OfError {
  static double value(double output, double target) {
    const double size = std::abs(output - target);
    return size < 1.0 ? 0.5 * size * size : size - 0.5;
  }
  static double slope(double output, double target) { return std::clamp(output - target, -1.0, 1.0); }
};
struct BinaryCrossEntropy {
  static double value(double output, double target) {
    return logarithm(1.0 + exponential(-std::abs(output))) + (std::max(output, 0.0) - output * target);
  }
  static double slope(double output, double target) {
    const double small = exponential(-std::abs(output));
    return (output >= 0.0 ? 1.0 : small) / (1.0 + small) - target;
  }
  static double success(double output, double target) { return (output > 0.0) == (target > 0.5) ? 1.0 : 0.0; }
};

template <class Of>
double loss_of_numbers(const float* outputs, std::size_t n, const float* targets, double factor, double* successes,
                       float* gradient) {
  const double share = 1.0 / static_cast<double>(n);
  double sum = 0.0;
  bool finite = true;
  for (std::size_t q = 0; q < n; ++q) {
    const double output = outputs[q], target = targets[q];
    sum += Of::value(output, target);
    successes[q] = Of::success(output, target);
    if (gradient == nullptr) continue;
    gradient[q] = static_cast<float>(Of::slope(output, target) * share * factor);
    finite &= std::isfinite(gradient[q]);
  }
  return finite ? sum * share : kNotANumber;
}

// exp(output - largest) of each, summed in their order.
template <class Take>
double sum_of_exponentials(const float* outputs, std::size_t n, float largest, Take take) {
  double sum = 0.0;
  for (std::size_t q = 0; q < n; ++q) {
    const double exponential_here = exponential(static_cast<double>(outputs[q]) - static_cast<double>(largest));
    sum += exponential_here;
    take(q, exponential_here);
  }
  return sum;
}

bool are_finite(const float* outputs, std::size_t n) {
  return std::all_of(outputs, outputs + n, [](float output) { return std::isfinite(output); });
}

double cross_entropy(const float* outputs, std::size_t n, std::size_t target, double factor, double* success,
                     float* gradient) {
  *success = 0.0;
  if (!are_finite(outputs, n)) return kNotANumber;
  const float* largest = std::max_element(outputs, outputs + n);  // the first of several, as argmax has it
  if (static_cast<std::size_t>(largest - outputs) == target) *success = 1.0;
  double sum;
  if (gradient == nullptr) {
    sum = sum_of_exponentials(outputs, n, *largest, [](std::size_t, double) {});
  } else {
    // As floats in between: there is no room for n doubles.
    sum = sum_of_exponentials(outputs, n, *largest,
                              [&](std::size_t q, double e) { gradient[q] = static_cast<float>(e); });
    const double of_one = factor / sum;
    for (std::size_t q = 0; q < n; ++q) gradient[q] = static_cast<float>(static_cast<double>(gradient[q]) * of_one);
    const double at_target = exponential(static_cast<double>(outputs[target]) - static_cast<double>(*largest)) / sum;
    gradient[target] = static_cast<float>((at_target - 1.0) * factor);
    if (!std::isfinite(gradient[target])) return kNotANumber;
  }
  return logarithm(sum) + (static_cast<double>(*largest) - static_cast<double>(outputs[target]));
}

}  // namespace

std::optional<Loss> loss_named(const std::string& name) {
  if (name == "cross_entropy") return Loss::kCrossEntropy;
  if (name == "squared_error") return Loss::kSquaredError;
  if (name == "absolute_error") return Loss::kAbsoluteError;
  if (name == "huber") return Loss::kHuber;
  if (name == "binary_cross_entropy") return Loss::kBinaryCrossEntropy;
  return std::nullopt;
}

double row_loss(Loss loss, const float* outputs, std::size_t n_outputs, const Targets& targets, std::size_t row,
                double factor, double* successes, float* gradient) {
  if (loss == Loss::kCrossEntropy) {
    return cross_entropy(outputs, n_outputs, static_cast<std::size_t>(targets.classes[row]), factor, successes,
                         gradient);
  }
  const float* numbers = targets.numbers + row * n_outputs;
  switch (loss) {
    case Loss::kAbsoluteError:
      return loss_of_numbers<AbsoluteError>(outputs, n_outputs, numbers, factor, successes, gradient);
    case Loss::kHuber: return loss_of_numbers<Huber>(outputs, n_outputs, numbers, factor, successes, gradient);
    case Loss::kBinaryCrossEntropy:
      return loss_of_numbers<BinaryCrossEntropy>(outputs, n_outputs, numbers, factor, successes, gradient);
    default: return loss_of_numbers<SquaredError>(outputs, n_outputs, numbers, factor, successes, gradient);
  }
}

void softmax(const float* outputs, std::size_t n, double* probabilities) {
  if (!are_finite(outputs, n)) {
    std::fill_n(probabilities, n, kNotANumber);
    return;
  }
  const float largest = *std::max_element(outputs, outputs + n);
  const double sum = sum_of_exponentials(outputs, n, largest, [&](std::size_t q, double e) { probabilities[q] = e; });
  for (std::size_t q = 0; q < n; ++q) probabilities[q] /= sum;
}

}  // namespace gcwsnet
