// A linear model on rows of hashed values, and on their pairs, that learns each row once: for clicks, where a row is some
// fields and a field has millions of values.
//
// A value is a key of 64 bits. It has a slot of the table, and so has each pair of values of a row; nothing is kept of the
// keys themselves. A slot holds a weight and a sum of squared gradients for each output. The outputs are log odds, each of
// its own class; for two classes there is one, of the second.
//
// A step is implicit: the rate of a slot is rate / sqrt(1/4 + its sum of squared gradients), as Adagrad has it, and the
// output z that a row had moves to the z' that solves z' = z - w R (sigma(z') - y), where R is the sum of the rates of its
// slots and w the weight of the row. So an output never moves beyond its label, however many slots a row has.
//
// Weights that have learned few rows are too sure of themselves. So the outputs are multiplied by a factor, which is learned
// from the outputs that rows had before they were learned: by Newton's steps on the log loss, from 1 on, with information
// that is forgotten over some 10,000 rows.
//
// Values that have not occurred often enough, or not for long, count as not there. A table is a function of its rows in
// their order: rows are learned by one thread, and sums have the order of the keys.
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <vector>

#include "base/aligned.hpp"
#include "base/keys.hpp"
#include "base/parallel.hpp"

namespace gcwsnet {

struct FieldTableSettings {
  int bits;  // of a slot's number
  std::size_t n_outputs;
  bool pairs;
  double rate, pair_rate;
  std::uint32_t min_count;     // occurrences with which a value begins to count
  std::int64_t forget_after;  // rows without an occurrence after which a slot is empty again; 0 is never
  std::uint64_t seed;
};

// Row number r has the keys from starts[r] to before starts[r + 1], in any order.
struct KeyRows {
  const std::int64_t* starts;
  const std::uint64_t* keys;
  std::size_t n;
};

class FieldTable {
 public:
  static constexpr std::size_t kMostPairedKeys = 64;  // of a row: further keys have no pairs

  explicit FieldTable(const FieldTableSettings& settings);

  const FieldTableSettings& settings() const { return settings_; }
  std::size_t n_slots() const { return std::size_t{1} << settings_.bits; }

  // The outputs [n][n_outputs] of rows, each before the row is learned. Classes are from 0 on; `weights` may be null.
  void train(const KeyRows& rows, const std::int64_t* classes, const float* weights, double* outputs, StopSign& stop_sign);
  void outputs(const KeyRows& rows, double* outputs, StopSign& stop_sign) const;

  // [slot][weights, sums of squares], and the same for the bias.
  std::shared_ptr<float[]> table;
  std::shared_ptr<float[]> bias;
  std::shared_ptr<std::uint32_t[]> counts;  // null unless min_count is above 1
  std::shared_ptr<std::int64_t[]> last;     // rows seen at the last occurrence; null unless forget_after is set
  std::shared_ptr<double[]> calibration;    // the factor of the outputs, and the information that there is about it
  std::int64_t rows_seen = 0;
  mutable std::shared_mutex mutex;

 private:
  struct Feature {
    std::uint32_t slot;
    bool is_pair;
  };
  struct Features {
    std::vector<std::uint64_t> keys;
    std::vector<Feature> found;
    std::vector<double> rates;
  };

  void find(const KeyRows& rows, std::size_t row, Features& features) const;
  bool is_stale(std::size_t slot, std::int64_t now) const { return last && now - last[slot] > settings_.forget_after; }
  void note_occurrences(Features& features);
  void learn(std::size_t output, double z, double target, double weight, Features& features);
  void calibrate(double z, double target, double weight);

  FieldTableSettings settings_;
  std::size_t width_;
  KeyStream keys_;
};

}  // namespace gcwsnet
