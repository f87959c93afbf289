#include "layer/field_table.hpp"

#include <algorithm>
#include <cmath>

#include "base/exponential.hpp"

namespace gcwsnet {

namespace {

constexpr double kFirstSquare = 0.25;  // the largest squared gradient of a row is 1: the first steps are not the largest

constexpr double kFirstInformation = 100.0, kKept = 0.9999, kLeastFactor = 0.1, kLargestFactor = 2.0;

double sigmoid(double z) {
  const double small = exponential(-std::abs(z));
  return z >= 0.0 ? 1.0 / (1.0 + small) : small / (1.0 + small);
}

// The z' with z' = z - c (sigma(z') - y), by Newton's method within an interval that holds it.
double implicit_step(double z, double y, double c) {
  double low = z - c * std::max(sigmoid(z) - y, 0.0), high = z - c * std::min(sigmoid(z) - y, 0.0);
  double next = z;
  for (int n = 0; n < 60; ++n) {
    const double s = sigmoid(next), f = next - z + c * (s - y);
    (f > 0.0 ? high : low) = next;
    double step = next - f / (1.0 + c * s * (1.0 - s));
    if (!(step >= low && step <= high)) step = 0.5 * (low + high);
    if (std::abs(step - next) <= 1e-12 * (1.0 + std::abs(next))) return step;
    next = step;
  }
  return next;
}

template <class Number>
std::shared_ptr<Number[]> zeros(std::size_t n) {
  std::shared_ptr<Number[]> made = aligned<Number>(n);
  std::fill_n(made.get(), n, Number{});
  return made;
}

}  // namespace

FieldTable::FieldTable(const FieldTableSettings& settings)
    : settings_(settings), width_(2 * settings.n_outputs), keys_(settings.seed, KeyStream::Purpose::kFields) {
  table = zeros<float>(n_slots() * width_);
  bias = zeros<float>(width_);
  calibration = zeros<double>(2);
  calibration[0] = 1.0;
  calibration[1] = kFirstInformation;
  if (settings.min_count > 1) counts = zeros<std::uint32_t>(n_slots());
  if (settings.forget_after > 0) last = zeros<std::int64_t>(n_slots());
}

// The slots of a row, in the order of its keys: those of values, then those of pairs.
void FieldTable::find(const KeyRows& rows, std::size_t row, Features& features) const {
  std::vector<std::uint64_t>& keys = features.keys;
  keys.assign(rows.keys + rows.starts[row], rows.keys + rows.starts[row + 1]);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  features.found.clear();
  const int shift = 64 - settings_.bits;
  const auto add = [&](std::uint64_t key, bool is_pair) {
    const auto slot = static_cast<std::uint32_t>(keys_(key) >> shift);
    __builtin_prefetch(table.get() + slot * width_);
    features.found.push_back({slot, is_pair});
  };
  for (const std::uint64_t key : keys) add(key, false);
  if (!settings_.pairs) return;
  const std::size_t n = std::min(keys.size(), kMostPairedKeys);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t first = mix64(keys[i] + kGolden);
    for (std::size_t j = i + 1; j < n; ++j) add(first ^ keys[j], true);
  }
}

// Empties what was forgotten, counts, and drops what does not count yet.
void FieldTable::note_occurrences(Features& features) {
  if (!counts && !last) return;
  const auto drop = [&](const Feature& feature) {
    const std::size_t slot = feature.slot;
    if (is_stale(slot, rows_seen)) {
      std::fill_n(table.get() + slot * width_, width_, 0.0f);
      if (counts) counts[slot] = 0;
    }
    if (last) last[slot] = rows_seen;
    if (!counts) return false;
    if (counts[slot] < settings_.min_count) ++counts[slot];
    return counts[slot] < settings_.min_count;
  };
  features.found.erase(std::remove_if(features.found.begin(), features.found.end(), drop), features.found.end());
}

void FieldTable::learn(std::size_t output, double z, double target, double weight, Features& features) {
  const double gradient = weight * (sigmoid(z) - target), square = gradient * gradient;
  const auto rate_of = [&](float* squares, double rate) {
    *squares = static_cast<float>(static_cast<double>(*squares) + square);
    return rate / std::sqrt(kFirstSquare + static_cast<double>(*squares));
  };
  const std::size_t of_square = settings_.n_outputs + output;
  features.rates.clear();
  const double of_bias = rate_of(&bias[of_square], settings_.rate);
  double sum = of_bias;
  for (const Feature& feature : features.found) {
    const double rate = feature.is_pair ? settings_.pair_rate : settings_.rate;
    features.rates.push_back(rate_of(&table[feature.slot * width_ + of_square], rate));
    sum += features.rates.back();
  }
  const double step = (z - implicit_step(z, target, weight * sum)) / sum;
  const auto move = [&](float* to, double rate) { *to = static_cast<float>(static_cast<double>(*to) - rate * step); };
  move(&bias[output], of_bias);
  for (std::size_t i = 0; i < features.found.size(); ++i) {
    move(&table[features.found[i].slot * width_ + output], features.rates[i]);
  }
}

void FieldTable::calibrate(double z, double target, double weight) {
  const double p = sigmoid(calibration[0] * z);
  calibration[1] = kKept * calibration[1] + weight * p * (1.0 - p) * z * z;
  const double factor = calibration[0] - weight * (p - target) * z / std::max(calibration[1], kFirstInformation);
  calibration[0] = std::clamp(factor, kLeastFactor, kLargestFactor);
}

void FieldTable::train(const KeyRows& rows, const std::int64_t* classes, const float* weights, double* outputs,
                       StopSign& stop_sign) {
  Features features;
  for (std::size_t row = 0; row < rows.n; ++row) {
    if (row % 1024 == 0) stop_sign.poll();
    find(rows, row, features);
    ++rows_seen;
    note_occurrences(features);
    const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[row]);
    for (std::size_t output = 0; output < settings_.n_outputs; ++output) {
      double z = static_cast<double>(bias[output]);
      for (const Feature& feature : features.found) z += static_cast<double>(table[feature.slot * width_ + output]);
      outputs[row * settings_.n_outputs + output] = calibration[0] * z;
      const std::size_t of_output = settings_.n_outputs == 1 ? 1 : output;
      const double target = classes[row] == static_cast<std::int64_t>(of_output) ? 1.0 : 0.0;
      if (weight <= 0.0) continue;
      calibrate(z, target, weight);
      learn(output, z, target, weight, features);
    }
  }
}

void FieldTable::outputs(const KeyRows& rows, double* outputs, StopSign& stop_sign) const {
  Features features;
  for (std::size_t row = 0; row < rows.n; ++row) {
    if (row % 1024 == 0) stop_sign.poll();
    find(rows, row, features);
    for (std::size_t output = 0; output < settings_.n_outputs; ++output) {
      double z = static_cast<double>(bias[output]);
      for (const Feature& feature : features.found) {
        if (is_stale(feature.slot, rows_seen + 1)) continue;
        z += static_cast<double>(table[feature.slot * width_ + output]);
      }
      outputs[row * settings_.n_outputs + output] = calibration[0] * z;
    }
  }
}

}  // namespace gcwsnet
