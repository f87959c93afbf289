// A net on codes and all that is learned of it: the hashed first layer, then ReLU and dense layers in turn.
//
// Initial weights are a pure function of the seed and of the settings. The weights that are drawn are numbered from 0: those
// of the table row by row, then for each further layer its weights, those of the first output first, and its biases.
// Weight n is made of the upper half of key n / 2 of the stream kInitialWeights (keys.hpp) if n is odd, else of the lower
// one: the upper 24 of these 32 bits, as a whole number t, give u = (2 t + 1 - 2^24) / 2^24, between -1 and 1, which is
// exact in float32, and the weight is u times the bound of its layer, rounded to float32. The bound of the table is
// scale / sqrt(n_hashes), that of a further layer is 1 / sqrt(inputs); they are computed in float64 and rounded to float32.
// The bias of the first layer is zero.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/aligned.hpp"
#include "base/parallel.hpp"
#include "base/team.hpp"
#include "layer/hashed_linear.hpp"
#include "layer/loss.hpp"

namespace gcwsnet {

// Rows of codes of one of three types, contiguous.
struct CodeRows {
  const void* codes;
  std::size_t bytes_per_code;  // 1, 2 or 4
  std::size_t n, n_hashes;

  // What the codes of a row pick.
  void picks(const RowOfCode& rows, std::size_t row, RowPick* out) const;
  // The hash of the first code of a row that has more bits than `bits`, or n_hashes if all codes fit.
  std::size_t first_out_of_range(std::size_t row, int bits) const;
  std::uint64_t code(std::size_t row, std::size_t hash) const;
};

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
  bool are_there() const { return !arrays_.empty(); }
  void make_zero(const std::vector<Parameter>& parameters);
  float* operator[](std::size_t number) const { return arrays_[number].get(); }
  // For views of the numbers, which may live longer than they do here.
  std::shared_ptr<float[]> shared(std::size_t number) const { return arrays_[number]; }
  void swap(ParameterArrays& other) { arrays_.swap(other.arrays_); }

 private:
  std::vector<std::shared_ptr<float[]>> arrays_;
};

// Sums of weights times rows over two parts of a stream, one after the other: the mean over both covers at least the last
// half of what has been seen. `newer` of a row of the table is only brought up to date before the row changes: taken[row]
// says up to which number of rows seen it is.
struct Averaging {
  ParameterArrays older, newer;
  std::shared_ptr<std::int64_t[]> taken;
  std::int64_t start = 0, older_rows = 0, newer_rows = 0;  // rows before `newer`, and those of the sums
  bool is_on = false;

  std::int64_t last() const { return start + newer_rows; }
  // By which `newer` of a row of the table is behind. Unsigned, since `taken` may have come from a file.
  std::int64_t n_not_taken(std::size_t row) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(last()) - static_cast<std::uint64_t>(taken[row]));
  }
  bool is_due(std::int64_t rows_seen) const { return 32 * rows_seen >= 33 * last(); }
};

class LayerOutputs;

class Net {
 public:
  // Layer number 0 is the table, of n_rows of codes.
  struct Layer {
    std::size_t n_in, n_out;
    std::size_t out_stride;  // of rows of outputs
  };

  // All weights are zero with `initialize` false.
  Net(const NetSettings& settings, bool initialize);

  const NetSettings& settings() const { return settings_; }
  const RowOfCode& rows() const { return rows_; }
  const std::vector<Layer>& layers() const { return layers_; }
  // Number 2 l is the weights of layer l, number 2 l + 1 its biases.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::size_t n_outputs() const { return layers_.back().n_out; }

  // Writes the outputs of all layers for n samples, from number `first` on. Their picks begin pick_stride apart.
  void forward(const RowPick* picks, std::size_t pick_stride, std::size_t first, std::size_t n,
               const LayerOutputs& outputs) const;

  // [n][n_outputs]
  void outputs(const CodeRows& codes, float* out, int n_threads, StopSign& stop_sign) const;

  // The sum of the losses of rows, and the sums of their successes.
  double evaluate(const CodeRows& codes, const Targets& targets, Loss loss, double* successes, int n_threads,
                  StopSign& stop_sign) const;

  void start_averaging();
  void stop_averaging();
  // To be called after a step, outside of all work on the table. `for_each(n, work)` does work(begin, end) on all ranges of
  // the n rows of the table.
  template <class ForEachRange>
  void note_rows_seen(ForEachRange for_each);
  // Brings the sum of a row of the table up to date, before the row changes.
  void take_into_average(const InstructionSet& set, std::size_t row) {
    const std::int64_t rows = averaging.n_not_taken(row);
    if (rows == 0) return;
    const std::size_t width = parameters_[0].stride, at = row * width;
    set.add_multiple(weights[0] + at, static_cast<float>(rows), width, averaging.newer[0] + at);
    averaging.taken[row] = averaging.last();
  }
  // Writes the mean weights into a net with the same settings.
  void write_averaged(Net& to, int n_threads) const;

  ParameterArrays weights, first_moments, second_moments;
  Averaging averaging;
  std::atomic<std::int64_t> n_steps{0}, rows_seen{0};
  Pace pace;  // of steps of training
  mutable std::shared_mutex mutex;  // held alone by what changes the net, shared by what reads it

 private:
  template <class Work>
  void for_each_chunk(const CodeRows& codes, int n_threads, StopSign& stop_sign, Work work) const;
  void initialize();
  bool take_all_but_table(std::int64_t rows);
  void begin_newer();

  NetSettings settings_;
  RowOfCode rows_;
  std::vector<Layer> layers_;
  std::vector<Parameter> parameters_;
};

// Room for the outputs of all layers for some samples, or for their gradients; zero at first.
class LayerOutputs {
 public:
  LayerOutputs(const Net& net, std::size_t n_samples);
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

template <class ForEachRange>
void Net::note_rows_seen(ForEachRange for_each) {
  const std::int64_t seen = rows_seen.load(std::memory_order_relaxed);
  if (!averaging.is_on || !averaging.is_due(seen)) return;
  if (!take_all_but_table(seen - averaging.last())) return;
  const InstructionSet& set = chosen_instruction_set();
  for_each(parameters_[0].n_rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) take_into_average(set, row);
  });
  begin_newer();
}

}  // namespace gcwsnet
