#include "layer/net.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/instruction_set.hpp"
#include "base/keys.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kSamplesAtOnce = 32;  // which share the rows of the table that they both pick

std::size_t whole_packs(std::size_t n) { return (n + 15) / 16 * 16; }

// Rows that inner products read are whole packs; the few outputs of a net without hidden layers need not be.
std::size_t stride_of_table(std::size_t width, bool is_last) {
  return is_last && width <= 8 ? std::bit_ceil(width) : whole_packs(width);
}

std::size_t n_table_rows(const NetSettings& settings) {
  const std::uint64_t positions = static_cast<std::uint64_t>(settings.n_hashes) << settings.bits;
  return static_cast<std::size_t>((positions + settings.reduction - 1) / settings.reduction);
}

template <class Function>
auto with_codes_of(const CodeRows& codes, std::size_t row, Function function) {
  const std::size_t at = row * codes.n_hashes;
  switch (codes.bytes_per_code) {
    case 1:
      return function(static_cast<const std::uint8_t*>(codes.codes) + at);
    case 2:
      return function(static_cast<const std::uint16_t*>(codes.codes) + at);
    default:
      return function(static_cast<const std::uint32_t*>(codes.codes) + at);
  }
}

}  // namespace

void CodeRows::picks(const RowOfCode& rows, std::size_t row, RowPick* out) const {
  with_codes_of(*this, row, [&](const auto* code) {
    for (std::size_t j = 0; j < n_hashes; ++j) out[j] = rows(j, code[j]);
  });
}

std::size_t CodeRows::first_out_of_range(std::size_t row, int bits) const {
  if (static_cast<int>(8 * bytes_per_code) <= bits) return n_hashes;
  return with_codes_of(*this, row, [&](const auto* code) {
    std::uint64_t all = 0;
    for (std::size_t j = 0; j < n_hashes; ++j) all |= code[j];
    if (all >> bits == 0) return n_hashes;
    const auto* wrong = std::find_if(code, code + n_hashes, [&](auto c) { return std::uint64_t{c} >> bits != 0; });
    return static_cast<std::size_t>(wrong - code);
  });
}

std::uint64_t CodeRows::code(std::size_t row, std::size_t hash) const {
  return with_codes_of(*this, row, [&](const auto* code) { return std::uint64_t{code[hash]}; });
}

void ParameterArrays::make_zero(const std::vector<Parameter>& parameters) {
  std::vector<std::shared_ptr<float[]>> made;
  for (const Parameter& parameter : parameters) {
    made.push_back(aligned<float>(parameter.size()));
    std::fill_n(made.back().get(), parameter.size(), 0.0f);
  }
  arrays_.swap(made);
}

LayerOutputs::LayerOutputs(const Net& net, std::size_t n_samples) {
  for (const Net::Layer& layer : net.layers()) {
    strides_.push_back(layer.out_stride);
    rows_.push_back(aligned<float>(n_samples * layer.out_stride));
    std::fill_n(rows_.back().get(), n_samples * layer.out_stride, 0.0f);
  }
}

Net::Net(const NetSettings& settings, bool initialize)
    : settings_(settings),
      rows_(settings.n_hashes, settings.bits, n_table_rows(settings), settings.reduction != 1, settings.seed) {
  std::vector<std::size_t> units = settings.hidden;
  units.push_back(settings.n_outputs);
  const std::size_t first_stride = stride_of_table(units[0], units.size() == 1);
  layers_.push_back({rows_.n_rows(), units[0], first_stride});
  for (std::size_t l = 1; l < units.size(); ++l) layers_.push_back({units[l - 1], units[l], whole_packs(units[l])});
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const std::string name = "layers." + std::to_string(2 * l);
    const std::size_t n_rows = l == 0 ? layer.n_in : layer.n_out;
    const std::size_t n_columns = l == 0 ? layer.n_out : layer.n_in;
    const std::size_t stride = l == 0 ? layer.out_stride : layers_[l - 1].out_stride;
    parameters_.push_back({name + ".weight", n_rows, n_columns, stride, false});
    parameters_.push_back({name + ".bias", 1, layer.n_out, layer.out_stride, true});
  }
  weights.make_zero(parameters_);
  if (initialize) this->initialize();
}

void Net::initialize() {
  const KeyStream keys(settings_.seed, KeyStream::Purpose::kInitialWeights);
  std::uint64_t n = 0;
  for (std::size_t number = 0; number < parameters_.size(); ++number) {
    if (number == 1) continue;  // the bias of the first layer
    const Parameter& parameter = parameters_[number];
    const double scale = number == 0 ? settings_.scale : 1.0;
    const double n_inputs = static_cast<double>(number == 0 ? settings_.n_hashes : layers_[number / 2].n_in);
    const float bound = static_cast<float>(scale / std::sqrt(n_inputs));
    for (std::size_t row = 0; row < parameter.n_rows; ++row) {
      float* to = weights[number] + row * parameter.stride;
      for (std::size_t x = 0; x < parameter.n_columns; ++x, ++n) {
        const std::uint64_t key = keys(n / 2);
        const auto t = static_cast<std::int32_t>((n % 2 == 0 ? key & 0xffffffffu : key >> 32) >> 8);
        to[x] = static_cast<float>(2 * t + 1 - (1 << 24)) * 0x1p-24f * bound;
      }
    }
  }
}

void Net::forward(const RowPick* picks, std::size_t pick_stride, std::size_t first, std::size_t n,
                  const LayerOutputs& outputs) const {
  constexpr std::size_t kHashes = 64, kAhead = 8;  // what two samples both pick is still near when the second one does
  const InstructionSet& set = chosen_instruction_set();
  const std::size_t n_hashes = settings_.n_hashes, width = layers_[0].out_stride;
  for (std::size_t i = 0; i < n; ++i) std::copy_n(weights[1], width, outputs.row(0, first + i));
  for (std::size_t j = 0; j < n_hashes; j += kHashes) {
    const std::size_t n_here = std::min(kHashes, n_hashes - j);
    for (std::size_t i = 0; i < n; ++i) {
      set.add_rows(weights[0], width, {picks + i * pick_stride + j, n_here, rows_.has_signs()}, kAhead,
                   n_hashes - j, outputs.row(0, first + i));
    }
  }
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    const MatrixRows inputs = outputs.rows(l - 1, first, n);
    set.rectify(outputs.row(l - 1, first), n * inputs.stride);
    set.inner_products(inputs, {weights[2 * l], layers_[l].n_out, inputs.stride}, inputs.stride, weights[2 * l + 1],
                       outputs.row(l, first), layers_[l].out_stride);
  }
}

// work(first, n, outputs) for some samples at a time, of which the outputs of number `first` come first.
template <class Work>
void Net::for_each_chunk(const CodeRows& codes, int n_threads, StopSign& stop_sign, Work work) const {
  const std::size_t n_hashes = settings_.n_hashes;
  n_threads = useful_threads(n_threads, codes.n * n_hashes * layers_[0].out_stride / kNumbersWorthAThread);
  const std::size_t share = codes.n / (2 * static_cast<std::size_t>(n_threads));
  const std::size_t step = std::clamp<std::size_t>(n_threads == 1 ? codes.n : share, 1, kSamplesAtOnce);
  for_each_block((codes.n + step - 1) / step, n_threads, stop_sign, [&] {
    return [&, picks = aligned<RowPick>(step * n_hashes), outputs = LayerOutputs(*this, step)](std::size_t block) {
      const std::size_t first = block * step, n = std::min(step, codes.n - first);
      for (std::size_t i = 0; i < n; ++i) codes.picks(rows_, first + i, picks.get() + i * n_hashes);
      forward(picks.get(), n_hashes, 0, n, outputs);
      work(first, n, outputs);
    };
  });
}

void Net::outputs(const CodeRows& codes, float* out, int n_threads, StopSign& stop_sign) const {
  const std::size_t n_out = n_outputs();
  for_each_chunk(codes, n_threads, stop_sign, [&](std::size_t first, std::size_t n, const LayerOutputs& outputs) {
    for (std::size_t i = 0; i < n; ++i) std::copy_n(outputs.last_row(i), n_out, out + (first + i) * n_out);
  });
}

double Net::evaluate(const CodeRows& codes, const Targets& targets, Loss loss, double* successes, int n_threads,
                     StopSign& stop_sign) const {
  const std::size_t n_out = n_outputs(), n_kinds = n_successes(loss, n_out);
  std::vector<double> losses(codes.n), of_rows(codes.n * n_kinds);
  for_each_chunk(codes, n_threads, stop_sign, [&](std::size_t first, std::size_t n, const LayerOutputs& outputs) {
    for (std::size_t i = first; i < first + n; ++i) {
      losses[i] = row_loss(loss, outputs.last_row(i - first), n_out, targets, i, 1.0, &of_rows[i * n_kinds], nullptr);
    }
  });
  std::fill_n(successes, n_kinds, 0.0);
  for (std::size_t i = 0; i < of_rows.size(); ++i) successes[i % n_kinds] += of_rows[i];
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

void Net::start_averaging() {
  const std::int64_t seen = rows_seen.load();
  Averaging made;
  made.older.make_zero(parameters_);
  made.newer.make_zero(parameters_);
  made.taken = aligned<std::int64_t>(parameters_[0].n_rows);
  std::fill_n(made.taken.get(), parameters_[0].n_rows, seen);
  made.start = seen;
  made.older_rows = seen - seen / 2;  // the weights now count as the mean over the second half of what has been seen
  made.is_on = true;
  const InstructionSet& set = chosen_instruction_set();
  for (std::size_t number = 0; number < parameters_.size(); ++number) {
    set.add_multiple(weights[number], static_cast<float>(made.older_rows), parameters_[number].size(), made.older[number]);
  }
  averaging = std::move(made);
}

void Net::stop_averaging() { averaging = Averaging(); }

// Whether `newer` now covers half of the stream, so that it becomes `older`.
bool Net::take_all_but_table(std::int64_t rows) {
  const InstructionSet& set = chosen_instruction_set();
  for (std::size_t number = 1; number < parameters_.size(); ++number) {
    set.add_multiple(weights[number], static_cast<float>(rows), parameters_[number].size(), averaging.newer[number]);
  }
  averaging.newer_rows += rows;
  return averaging.last() >= 2 * averaging.start;
}

void Net::begin_newer() {
  averaging.older.swap(averaging.newer);
  for (std::size_t number = 0; number < parameters_.size(); ++number) {
    std::fill_n(averaging.newer[number], parameters_[number].size(), 0.0f);
  }
  averaging.start = averaging.last();
  averaging.older_rows = averaging.newer_rows;
  averaging.newer_rows = 0;
}

void Net::write_averaged(Net& to, int n_threads) const {
  const float total = static_cast<float>(averaging.older_rows + averaging.newer_rows);
  const bool any = averaging.older_rows + averaging.newer_rows > 0;
  for (std::size_t number = 0; number < parameters_.size(); ++number) {
    const std::size_t width = parameters_[number].stride, n_rows = parameters_[number].n_rows;
    constexpr std::size_t kRows = 1024;
    StopSign stop_sign = StopSign::never();
    n_threads = useful_threads(n_threads, n_rows * width / kNumbersWorthAThread);
    for_each_block((n_rows + kRows - 1) / kRows, n_threads, stop_sign, [&] {
      return [&](std::size_t block) {
        for (std::size_t row = block * kRows; row < std::min((block + 1) * kRows, n_rows); ++row) {
          const float* now = weights[number] + row * width;
          const float* older = averaging.older[number] + row * width;
          const float* newer = averaging.newer[number] + row * width;
          const float rows = number == 0 ? static_cast<float>(averaging.n_not_taken(row)) : 0.0f;
          float* mean = to.weights[number] + row * width;
          for (std::size_t x = 0; x < width; ++x) {
            mean[x] = any ? (older[x] + (newer[x] + rows * now[x])) / total : now[x];
          }
        }
      };
    });
  }
}

}  // namespace gcwsnet
