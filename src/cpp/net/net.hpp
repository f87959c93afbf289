// A net on codes and all that is learned of it: the hashed first layer, then ReLU and dense layers in turn.
//
// Initial weights are a pure function of the seed and of the settings. The weights that are drawn are numbered from 0:
// those of the table row by row, then for each further layer its weights, those of the first output first, and its
// biases. Weight n is made of the upper half of key n / 2 of the stream kInitialWeights (keys.hpp) if n is odd, else of
// the lower one: the upper 24 of these 32 bits, as a whole number t, give u = (2 t + 1 - 2^24) / 2^24, between -1 and
// 1, which is exact in float32, and the weight is u times the bound of its layer, rounded to float32. The bound of the
// table is scale / sqrt(n_hashes), that of a further layer is 1 / sqrt(inputs); they are computed in float64 and
// rounded to float32. The bias of the first layer is zero.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/aligned.hpp"
#include "base/parallel.hpp"
#include "base/team.hpp"
#include "net/lookups.hpp"
#include "net/loss.hpp"

namespace gcwsnet {

struct NetSettings {
  std::size_t n_hashes;
  int bits;
  std::vector<std::size_t> hidden;
  std::size_t n_outputs;
  std::uint64_t reduction;
  std::uint64_t seed;
  double scale;
};

// A matrix, or a vector if it has one row and is named so. Rows begin `stride` numbers apart; what is between is zero.
struct Parameter {
  std::string name;  // that of the torch net in gcwsnet.nn
  std::size_t n_rows, n_columns, stride;
  bool is_vector;
  std::size_t size() const { return n_rows * stride; }
};

// Numbers for each parameter: weights, moments, sums. Empty until they are made.
class ParameterArrays {
 public:
  bool is_allocated() const { return !arrays_.empty(); }
  void allocate_zeros(const std::vector<Parameter>& parameters);
  float* operator[](std::size_t number) const { return arrays_[number].get(); }
  // For views of the numbers, which may live longer than they do here.
  std::shared_ptr<float[]> shared(std::size_t number) const { return arrays_[number]; }
  void set(std::size_t number, std::shared_ptr<float[]> numbers) { arrays_[number] = std::move(numbers); }

 private:
  std::vector<std::shared_ptr<float[]>> arrays_;
};

// Sums of weights times rows over two parts of a stream, one after the other: the mean over both covers at least the
// last half of what has been seen since `origin`. All other numbers of rows are counted from there.
//
// The sums of a row of the table are only brought up to date before the row changes: newer_since[row] is the `start`
// that they are of, and taken[row] says up to which number of rows `newer` is. So no step has to go over the whole
// table.
struct Averaging {
  ParameterArrays older, newer;
  std::shared_ptr<std::int64_t[]> taken, newer_since;
  std::int64_t origin = 0;
  std::int64_t start = 0, older_rows = 0, newer_rows = 0;  // rows before `newer`, and those of the sums
  bool is_on = false;

  std::int64_t last() const { return start + newer_rows; }
  std::int64_t total() const { return older_rows + newer_rows; }
  // By which `newer` of a row of the table is behind. Unsigned, since `taken` may have come from a file.
  std::int64_t n_pending(std::size_t row) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(last()) - static_cast<std::uint64_t>(taken[row]));
  }
  bool is_due(std::int64_t rows_seen) const { return 32 * (rows_seen - origin) >= 33 * last(); }
};

// The mean of the weights over the last rows of a stream, each of which counts `keep` times as much as the next one.
// While a row of the table stays as it is, its mean moves towards it by a power of `keep`: it is brought up to date
// before the row changes, unless that was done less than 16 rows ago: where steps are on single rows, memory is what
// they take time for. taken[row] is the number of rows seen that it is of; below 0 the mean is the row itself.
struct RecentMean {
  ParameterArrays mean;
  std::shared_ptr<std::int64_t[]> taken;
  double keep = 0.0;
  bool is_on = false;

  bool is_due(std::size_t row, std::int64_t rows_seen) const { return taken[row] < 0 || rows_seen - taken[row] >= 16; }
};

// x to the power n by squaring, not by the C library: the same bits on every machine.
inline double power(double x, std::int64_t n) {
  double product = 1.0;
  for (; n > 0; n >>= 1, x *= x) {
    if (n & 1) product *= x;
  }
  return product;
}

// The weights of a net: as they are, their mean over recent rows, or over the last half of a stream.
enum class WhichWeights { kLast, kRecent, kAverage };

// Layer number 0 is the table, whose inputs are its rows.
struct Layer {
  std::size_t n_in, n_out;
  std::size_t out_stride;  // of rows of outputs
};

std::size_t n_table_rows(const NetSettings& settings);
std::vector<Layer> layers_of(const NetSettings& settings);
// Number 2 l is the weights of layer l, number 2 l + 1 its biases.
std::vector<Parameter> parameters_of(const std::vector<Layer>& layers);

class LayerOutputs;

// From the outputs of the first layer for some samples to those of the last one, by parameters 2, 3 and so on.
void forward_dense(const std::vector<Layer>& layers, const std::vector<const float*>& parameters, std::size_t first,
                   std::size_t n, const LayerOutputs& outputs);

class Net {
 public:
  // All weights are zero with `initialize` false.
  Net(const NetSettings& settings, bool initialize);

  const NetSettings& settings() const { return settings_; }
  const CodeToRow& rows() const { return rows_; }
  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::size_t n_outputs() const { return layers_.back().n_out; }

  // Writes the outputs of all layers for n samples, from number `first` on. Their lookups begin lookup_stride apart.
  void forward(const Lookup* lookups, std::size_t lookup_stride, std::size_t first, std::size_t n,
               const LayerOutputs& outputs) const;

  // [n][n_outputs]. Of means only the rows of the table that are looked up are computed.
  void outputs(const CodeRows& codes, WhichWeights which, float* out, int n_threads, StopToken& stop_token) const;

  // The sum of the losses of rows, and the sums of their successes.
  double evaluate(const CodeRows& codes, const Targets& targets, Loss loss, double* successes, int n_threads,
                  StopToken& stop_token) const;

  // Averages what is learned from here on. The weights as they are count as the mean over the second half of the rows
  // seen, or not at all if the average begins `from_now`.
  void start_averaging(bool from_now);
  void stop_averaging();
  void start_recent_mean(double keep);
  // To be called after a step on n rows, outside of all work on the table.
  void after_step(std::size_t n);
  // Brings the means of a row of the table up to date, before the row changes.
  void update_means(const NetFunctions& functions, std::size_t row) {
    if (averaging.is_on) update_average(functions, row);
    if (recent.is_on && recent.is_due(row, rows_seen.load(std::memory_order_relaxed)))
      update_recent_mean(functions, row);
  }
  // Asks for what update_means and prefetch_stale_means look up for a row of the table, wherever that is.
  void prefetch_mean_counters(std::size_t row) const {
    if (averaging.is_on) {
      __builtin_prefetch(&averaging.taken[row]);
      __builtin_prefetch(&averaging.newer_since[row]);
    }
    if (recent.is_on) __builtin_prefetch(&recent.taken[row], 1);
  }
  // Asks for the memory that update_means needs for a row of the table, beside the row itself.
  void prefetch_stale_means(std::size_t row) const {
    if (recent.is_on && recent.is_due(row, rows_seen.load(std::memory_order_relaxed))) prefetch(recent.mean[0], row);
    if (!averaging.is_on) return;
    const bool is_settled = averaging.newer_since[row] == averaging.start;
    if (!is_settled) prefetch(averaging.older[0], row);
    if (!is_settled || averaging.n_pending(row) != 0) prefetch(averaging.newer[0], row);
  }
  // Asks for the memory of a row of the table that write_row reads.
  void prefetch_means(WhichWeights which, std::size_t row) const;
  // Brings all sums of averages to the present `start`, to save them.
  void sync_averages();
  // Makes room for one more output, in front of output number `place`. Its weights and all that is kept of them are
  // zero.
  void insert_output(std::size_t place);
  // Writes for each row of the table whether a weight is now another than was drawn for it. What rounding makes of
  // means and rounds of learning that leave a row as it is does not count.
  void write_changed_rows(bool* changed, int n_threads, StopToken& stop_token) const;
  // Writes means of weights into a net with the same settings.
  void write_weights(WhichWeights which, Net& to, int n_threads) const;

  ParameterArrays weights, first_moments, second_moments;
  Averaging averaging;
  RecentMean recent;
  std::atomic<std::int64_t> n_steps{0}, rows_seen{0};
  SpeedupMonitor speedup;           // of steps of training
  mutable std::shared_mutex mutex;  // held alone by what changes the net, shared by what reads it

 private:
  class Means;
  template <class Work>
  void for_each_chunk(const CodeRows& codes, WhichWeights which, int n_threads, StopToken& stop_token, Work work) const;
  void initialize();
  class Drawn;
  void sync_row(std::size_t row);
  void prefetch(const float* numbers, std::size_t row) const;  // a row of the table, or of what is kept of it
  void update_average(const NetFunctions& functions, std::size_t row);
  void update_recent_mean(const NetFunctions& functions, std::size_t row);
  // What the recent mean of a row of the table keeps of itself when it is brought up to date.
  float share_of_recent_mean(std::size_t row) const;
  // One row of a parameter, of shape [stride].
  void write_row(WhichWeights which, std::size_t number, std::size_t row, float* to) const;

  NetSettings settings_;
  CodeToRow rows_;
  std::vector<Layer> layers_;
  std::vector<Parameter> parameters_;
};

// Room for the outputs of all layers for some samples, or for their gradients; zero at first.
class LayerOutputs {
 public:
  LayerOutputs(const std::vector<Layer>& layers, std::size_t n_samples);
  float* row(std::size_t layer, std::size_t sample) const { return rows_[layer].get() + sample * strides_[layer]; }
  float* last_row(std::size_t sample) const { return row(rows_.size() - 1, sample); }
  // From sample number `first` on.
  MatrixRows rows(std::size_t layer, std::size_t first, std::size_t n) const {
    return {row(layer, first), n, strides_[layer]};
  }

 private:
  std::vector<std::size_t> strides_;
  std::vector<Aligned<float>> rows_;
};

}  // namespace gcwsnet
