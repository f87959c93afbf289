#include "net/net.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/keys.hpp"
#include "dispatch.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kSampleBlock = 32;  // which share the rows of the table that they both use

std::size_t padded_width(std::size_t n) { return (n + 15) / 16 * 16; }

// Rows that inner products read are whole packs; the few outputs of a net without hidden layers need not be.
std::size_t stride_of_table(std::size_t width, bool is_last) {
  return is_last && width <= 8 ? std::bit_ceil(width) : padded_width(width);
}

}  // namespace

std::size_t n_table_rows(const NetSettings& settings) {
  const std::uint64_t positions = static_cast<std::uint64_t>(settings.n_hashes) << settings.bits;
  return static_cast<std::size_t>((positions + settings.reduction - 1) / settings.reduction);
}

std::vector<Layer> layers_of(const NetSettings& settings) {
  std::vector<std::size_t> units = settings.hidden;
  units.push_back(settings.n_outputs);
  std::vector<Layer> layers{{n_table_rows(settings), units[0], stride_of_table(units[0], units.size() == 1)}};
  for (std::size_t l = 1; l < units.size(); ++l) layers.push_back({units[l - 1], units[l], padded_width(units[l])});
  return layers;
}

std::vector<Parameter> parameters_of(const std::vector<Layer>& layers) {
  std::vector<Parameter> parameters;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    const std::string name = "layers." + std::to_string(2 * l);
    const std::size_t n_rows = l == 0 ? layer.n_in : layer.n_out;
    const std::size_t n_columns = l == 0 ? layer.n_out : layer.n_in;
    const std::size_t stride = l == 0 ? layer.out_stride : layers[l - 1].out_stride;
    parameters.push_back({name + ".weight", n_rows, n_columns, stride, false});
    parameters.push_back({name + ".bias", 1, layer.n_out, layer.out_stride, true});
  }
  return parameters;
}

void ParameterArrays::allocate_zeros(const std::vector<Parameter>& parameters) {
  std::vector<std::shared_ptr<float[]>> made;
  for (const Parameter& parameter : parameters) {
    made.push_back(aligned<float>(parameter.size()));
    std::fill_n(made.back().get(), parameter.size(), 0.0f);
  }
  arrays_.swap(made);
}

LayerOutputs::LayerOutputs(const std::vector<Layer>& layers, std::size_t n_samples) {
  for (const Layer& layer : layers) {
    strides_.push_back(layer.out_stride);
    rows_.push_back(aligned<float>(n_samples * layer.out_stride));
    std::fill_n(rows_.back().get(), n_samples * layer.out_stride, 0.0f);
  }
}

Net::Net(const NetSettings& settings, bool initialize)
    : settings_(settings),
      rows_(settings.n_hashes, settings.bits, n_table_rows(settings), settings.reduction != 1, settings.seed),
      layers_(layers_of(settings)),
      parameters_(parameters_of(layers_)) {
  weights.allocate_zeros(parameters_);
  if (initialize) this->initialize();
}

// The weights that are drawn for a parameter, by their numbers.
class Net::Drawn {
 public:
  Drawn(const Net& net, std::size_t number) : keys_(net.settings_.seed, KeyStream::Purpose::kInitialWeights) {
    const double scale = number == 0 ? net.settings_.scale : 1.0;
    const double n_inputs = static_cast<double>(number == 0 ? net.settings_.n_hashes : net.layers_[number / 2].n_in);
    bound = static_cast<float>(scale / std::sqrt(n_inputs));
  }
  float operator()(std::uint64_t n) const {
    const std::uint64_t key = keys_(n / 2);
    const auto t = static_cast<std::int32_t>((n % 2 == 0 ? key & 0xffffffffu : key >> 32) >> 8);
    return static_cast<float>(2 * t + 1 - (1 << 24)) * 0x1p-24f * bound;
  }
  float bound;

 private:
  KeyStream keys_;
};

void Net::initialize() {
  std::uint64_t n = 0;
  for (std::size_t number = 0; number < parameters_.size(); ++number) {
    if (number == 1) continue;  // the bias of the first layer
    const Parameter& parameter = parameters_[number];
    const Drawn drawn(*this, number);
    for (std::size_t row = 0; row < parameter.n_rows; ++row) {
      float* to = weights[number] + row * parameter.stride;
      for (std::size_t x = 0; x < parameter.n_columns; ++x, ++n) to[x] = drawn(n);
    }
  }
}

void Net::write_changed_rows(bool* changed, int n_threads, StopToken& stop_token) const {
  constexpr std::size_t kRows = 1024;
  const Parameter& table = parameters_[0];
  const Drawn drawn(*this, 0);
  const float most = drawn.bound * 0x1p-20f;
  for_each_block(blocks_of(table.n_rows, kRows), n_threads, stop_token, [&] {
    return [&](std::size_t block) {
      for (std::size_t row = block * kRows; row < std::min((block + 1) * kRows, table.n_rows); ++row) {
        const float* now = weights[0] + row * table.stride;
        std::size_t x = 0;
        while (x < table.n_columns && std::abs(now[x] - drawn(row * table.n_columns + x)) <= most) ++x;
        changed[row] = x < table.n_columns;
      }
    };
  });
}

void Net::forward(const Lookup* lookups, std::size_t lookup_stride, std::size_t first, std::size_t n,
                  const LayerOutputs& outputs) const {
  constexpr std::size_t kHashes = 32, kAhead = 8;  // a row that two samples use is still near for the second one
  const NetFunctions& functions = chosen_instruction_set().net;
  const std::size_t n_hashes = settings_.n_hashes, width = layers_[0].out_stride;
  for (std::size_t i = 0; i < n; ++i) std::copy_n(weights[1], width, outputs.row(0, first + i));
  for (std::size_t j = 0; j < n_hashes; j += kHashes) {
    const std::size_t n_here = std::min(kHashes, n_hashes - j);
    for (std::size_t i = 0; i < n; ++i) {
      functions.add_rows(weights[0], width, {lookups + i * lookup_stride + j, n_here, rows_.has_signs()}, kAhead,
                         n_hashes - j, outputs.row(0, first + i));
    }
  }
  std::vector<const float*> dense;
  for (std::size_t number = 0; number < parameters_.size(); ++number) dense.push_back(weights[number]);
  forward_dense(layers_, dense, first, n, outputs);
}

void forward_dense(const std::vector<Layer>& layers, const std::vector<const float*>& parameters, std::size_t first,
                   std::size_t n, const LayerOutputs& outputs) {
  const NetFunctions& functions = chosen_instruction_set().net;
  for (std::size_t l = 1; l < layers.size(); ++l) {
    const MatrixRows inputs = outputs.rows(l - 1, first, n);
    functions.relu(outputs.row(l - 1, first), n * inputs.stride);
    functions.inner_products(inputs, {parameters[2 * l], layers[l].n_out, inputs.stride}, inputs.stride,
                             parameters[2 * l + 1], outputs.row(l, first), layers[l].out_stride);
  }
}

// Means of weights, computed where they are needed: all but the table at once, and rows of the table when they are
// looked up.
class Net::Means {
 public:
  Means(const Net& net, WhichWeights which) : net_(net), which_(which) {
    if (which == WhichWeights::kLast) return;
    for (std::size_t number = 0; number < net.parameters_.size(); ++number) {
      const Parameter& parameter = net.parameters_[number];
      arrays_.push_back(aligned<float>(number == 0 ? 0 : parameter.size()));
      dense_.push_back(arrays_.back().get());
      for (std::size_t row = 0; number != 0 && row < parameter.n_rows; ++row) {
        net.write_row(which, number, row, arrays_[number].get() + row * parameter.stride);
      }
    }
  }
  const std::vector<const float*>& dense() const { return dense_; }
  Aligned<float> room() const {
    return aligned<float>(which_ == WhichWeights::kLast ? 0 : kHashes * net_.parameters_[0].stride);
  }
  // Writes the outputs of the first layer for n samples.
  void add_looked_up(const Lookup* lookups, std::size_t n, float* mean_rows, const LayerOutputs& outputs) const {
    const NetFunctions& functions = chosen_instruction_set().net;
    const std::size_t n_hashes = net_.settings_.n_hashes, width = net_.parameters_[0].stride;
    Lookup here[kHashes];
    for (std::size_t i = 0; i < n; ++i) {
      std::copy_n(dense_[1], width, outputs.row(0, i));
      for (std::size_t j = 0; j < n_hashes; j += kHashes) {
        const std::size_t n_here = std::min(kHashes, n_hashes - j);
        for (std::size_t q = 0; q < n_here; ++q) {
          const Lookup* from = lookups + i * n_hashes + j + q;
          if (j + q + kAhead < n_hashes) net_.prefetch_means(which_, from[kAhead] >> 1);
          const Lookup lookup = *from;
          net_.write_row(which_, 0, lookup >> 1, mean_rows + q * width);
          here[q] = static_cast<Lookup>(2 * q) | (lookup & 1);
        }
        functions.add_rows(mean_rows, width, {here, n_here, net_.rows_.has_signs()}, 0, n_here, outputs.row(0, i));
      }
    }
  }

 private:
  static constexpr std::size_t kHashes = 16, kAhead = 4;  // the means of these rows fit into the nearest cache
  const Net& net_;
  WhichWeights which_;
  std::vector<Aligned<float>> arrays_;
  std::vector<const float*> dense_;
};

// work(first, n, outputs) for some samples at a time, of which the outputs of number `first` come first.
template <class Work>
void Net::for_each_chunk(const CodeRows& codes, WhichWeights which, int n_threads, StopToken& stop_token,
                         Work work) const {
  const std::size_t n_hashes = settings_.n_hashes;
  const Means means(*this, which);
  n_threads = useful_threads(n_threads, codes.n * n_hashes * layers_[0].out_stride / kMinNumbersPerThread);
  const std::size_t share = codes.n / (2 * static_cast<std::size_t>(n_threads));
  const std::size_t step = std::clamp<std::size_t>(n_threads == 1 ? codes.n : share, 1, kSampleBlock);
  for_each_block(blocks_of(codes.n, step), n_threads, stop_token, [&] {
    return [&, lookups = aligned<Lookup>(step * n_hashes), outputs = LayerOutputs(layers_, step),
            mean_rows = means.room()](std::size_t block) {
      const std::size_t first = block * step, n = std::min(step, codes.n - first);
      for (std::size_t i = 0; i < n; ++i) codes.lookups(rows_, first + i, lookups.get() + i * n_hashes);
      if (which == WhichWeights::kLast) {
        forward(lookups.get(), n_hashes, 0, n, outputs);
      } else {
        means.add_looked_up(lookups.get(), n, mean_rows.get(), outputs);
        forward_dense(layers_, means.dense(), 0, n, outputs);
      }
      work(first, n, outputs);
    };
  });
}

void Net::outputs(const CodeRows& codes, WhichWeights which, float* out, int n_threads, StopToken& stop_token) const {
  const std::size_t n_out = n_outputs();
  for_each_chunk(codes, which, n_threads, stop_token,
                 [&](std::size_t first, std::size_t n, const LayerOutputs& outputs) {
                   for (std::size_t i = 0; i < n; ++i)
                     std::copy_n(outputs.last_row(i), n_out, out + (first + i) * n_out);
                 });
}

double Net::evaluate(const CodeRows& codes, const Targets& targets, Loss loss, double* successes, int n_threads,
                     StopToken& stop_token) const {
  const std::size_t n_out = n_outputs(), n_kinds = n_successes(loss, n_out);
  std::vector<double> losses(codes.n), of_rows(codes.n * n_kinds);
  constexpr WhichWeights kLast = WhichWeights::kLast;
  for_each_chunk(
      codes, kLast, n_threads, stop_token, [&](std::size_t first, std::size_t n, const LayerOutputs& outputs) {
        for (std::size_t i = first; i < first + n; ++i) {
          losses[i] =
              row_loss(loss, outputs.last_row(i - first), n_out, targets, i, 1.0, &of_rows[i * n_kinds], nullptr);
        }
      });
  std::fill_n(successes, n_kinds, 0.0);
  for (std::size_t i = 0; i < of_rows.size(); ++i) successes[i % n_kinds] += of_rows[i];
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

void Net::start_averaging(bool from_now) {
  const std::int64_t seen = rows_seen.load();
  const std::size_t n_rows = parameters_[0].n_rows;
  if (!averaging.is_on) {
    averaging.older.allocate_zeros(parameters_);
    averaging.newer.allocate_zeros(parameters_);
    averaging.taken = aligned<std::int64_t>(n_rows);
    averaging.newer_since = aligned<std::int64_t>(n_rows);
  }
  averaging.origin = from_now ? seen : 0;
  averaging.start = seen - averaging.origin;
  averaging.older_rows = averaging.start - averaging.start / 2;
  averaging.newer_rows = 0;
  averaging.is_on = true;
  std::fill_n(averaging.taken.get(), n_rows, averaging.start);
  std::fill_n(averaging.newer_since.get(), n_rows, std::int64_t{-1});  // their sums are those of the row as it is
  for (std::size_t number = 1; number < parameters_.size(); ++number) {
    for (std::size_t x = 0; x < parameters_[number].size(); ++x) {
      averaging.older[number][x] = weights[number][x] * static_cast<float>(averaging.older_rows);
      averaging.newer[number][x] = 0.0f;
    }
  }
}

void Net::stop_averaging() {
  averaging = Averaging();
  recent = RecentMean();
}

void Net::start_recent_mean(double keep) {
  if (!recent.is_on) {
    recent.mean.allocate_zeros(parameters_);
    recent.taken = aligned<std::int64_t>(parameters_[0].n_rows);
  }
  recent.keep = keep;
  recent.is_on = true;
  std::fill_n(recent.taken.get(), parameters_[0].n_rows, std::int64_t{-1});
  for (std::size_t number = 1; number < parameters_.size(); ++number) {
    std::copy_n(weights[number], parameters_[number].size(), recent.mean[number]);
  }
}

void Net::after_step(std::size_t n) {
  const NetFunctions& functions = chosen_instruction_set().net;
  const std::int64_t seen = rows_seen.load(std::memory_order_relaxed);
  if (recent.is_on) {
    const auto share = static_cast<float>(power(recent.keep, static_cast<std::int64_t>(n)));
    for (std::size_t number = 1; number < parameters_.size(); ++number) {
      functions.update_moving_average(weights[number], share, parameters_[number].size(), recent.mean[number]);
    }
  }
  if (!averaging.is_on || !averaging.is_due(seen)) return;
  const std::int64_t rows = seen - averaging.origin - averaging.last();
  for (std::size_t number = 1; number < parameters_.size(); ++number) {
    functions.axpy(weights[number], static_cast<float>(rows), parameters_[number].size(), averaging.newer[number]);
  }
  averaging.newer_rows += rows;
  if (averaging.last() < 2 * averaging.start) return;
  // `newer` covers half of the stream and becomes `older`, of rows of the table when they are met next.
  for (std::size_t number = 1; number < parameters_.size(); ++number) {
    const std::size_t size = parameters_[number].size();
    std::copy_n(averaging.newer[number], size, averaging.older[number]);
    std::fill_n(averaging.newer[number], size, 0.0f);
  }
  averaging.start = averaging.last();
  averaging.older_rows = averaging.newer_rows;
  averaging.newer_rows = 0;
}

void Net::sync_row(std::size_t row) {
  if (averaging.newer_since[row] == averaging.start) return;
  const std::size_t width = parameters_[0].stride, at = row * width;
  const float* now = weights[0] + at;
  float* older = averaging.older[0] + at;
  float* newer = averaging.newer[0] + at;
  if (averaging.newer_since[row] == averaging.start - averaging.older_rows) {
    const auto rows = static_cast<float>(averaging.start - averaging.taken[row]);
    for (std::size_t x = 0; x < width; ++x) older[x] = newer[x] + rows * now[x];
  } else {  // the row has not changed for longer than `older` is long
    const auto rows = static_cast<float>(averaging.older_rows);
    for (std::size_t x = 0; x < width; ++x) older[x] = rows * now[x];
  }
  std::fill_n(newer, width, 0.0f);
  averaging.taken[row] = averaging.newer_since[row] = averaging.start;
}

void Net::sync_averages() {
  for (std::size_t row = 0; row < parameters_[0].n_rows; ++row) sync_row(row);
}

void Net::update_average(const NetFunctions& functions, std::size_t row) {
  sync_row(row);
  const std::int64_t rows = averaging.n_pending(row);
  if (rows == 0) return;
  const std::size_t width = parameters_[0].stride, at = row * width;
  functions.axpy(weights[0] + at, static_cast<float>(rows), width, averaging.newer[0] + at);
  averaging.taken[row] = averaging.last();
}

float Net::share_of_recent_mean(std::size_t row) const {
  const std::int64_t rows = rows_seen.load(std::memory_order_relaxed) - recent.taken[row];
  return static_cast<float>(power(recent.keep, rows));
}

void Net::update_recent_mean(const NetFunctions& functions, std::size_t row) {
  const std::size_t width = parameters_[0].stride, at = row * width;
  if (recent.taken[row] < 0) {
    std::copy_n(weights[0] + at, width, recent.mean[0] + at);
  } else {
    functions.update_moving_average(weights[0] + at, share_of_recent_mean(row), width, recent.mean[0] + at);
  }
  recent.taken[row] = rows_seen.load(std::memory_order_relaxed);
}

void Net::prefetch(const float* numbers, std::size_t row) const {
  const std::size_t width = parameters_[0].stride;
  for (std::size_t x = 0; x < width; x += kCacheLine / sizeof(float)) __builtin_prefetch(numbers + row * width + x);
}

void Net::prefetch_means(WhichWeights which, std::size_t row) const {
  prefetch(weights[0], row);
  if (which == WhichWeights::kRecent) prefetch(recent.mean[0], row);
  if (which != WhichWeights::kAverage) return;
  prefetch(averaging.older[0], row);
  prefetch(averaging.newer[0], row);
}

void Net::write_row(WhichWeights which, std::size_t number, std::size_t row, float* to) const {
  const NetFunctions& functions = chosen_instruction_set().net;
  const std::size_t width = parameters_[number].stride, at = row * width;
  const float* now = weights[number] + at;
  if (which == WhichWeights::kRecent) {
    const bool as_it_is = number == 0 && recent.taken[row] < 0;
    std::copy_n((as_it_is ? weights : recent.mean)[number] + at, width, to);
    if (number == 0 && !as_it_is) functions.update_moving_average(now, share_of_recent_mean(row), width, to);
    return;
  }
  const auto total = static_cast<float>(averaging.total());
  if (which == WhichWeights::kLast || averaging.total() == 0) {
    std::copy_n(now, width, to);
    return;
  }
  const float* older = averaging.older[number] + at;
  const float* newer = averaging.newer[number] + at;
  if (number != 0 || averaging.newer_since[row] == averaging.start) {
    const float rows = number == 0 ? static_cast<float>(averaging.n_pending(row)) : 0.0f;
    functions.mean_of_sums(older, newer, now, rows, total, width, to);
    return;
  }
  const auto rows = static_cast<float>(averaging.newer_rows);
  if (averaging.newer_since[row] == averaging.start - averaging.older_rows) {
    const auto before = static_cast<float>(averaging.start - averaging.taken[row]);
    for (std::size_t x = 0; x < width; ++x) to[x] = ((newer[x] + before * now[x]) + rows * now[x]) / total;
  } else {
    const auto before = static_cast<float>(averaging.older_rows);
    for (std::size_t x = 0; x < width; ++x) to[x] = (before * now[x] + rows * now[x]) / total;
  }
}

void Net::insert_output(std::size_t place) {
  const std::size_t l = layers_.size() - 1;
  Layer layer = layers_[l];
  layer.n_out += 1;
  layer.out_stride = l == 0 ? stride_of_table(layer.n_out, true) : padded_width(layer.n_out);
  Parameter weight = parameters_[2 * l], bias = parameters_[2 * l + 1];
  (l == 0 ? weight.n_columns : weight.n_rows) += 1;
  if (l == 0) weight.stride = layer.out_stride;
  bias.n_columns += 1;
  bias.stride = layer.out_stride;
  // Numbers of a parameter with zeros in front of row or column `place`.
  const auto widened = [&](const float* from, const Parameter& before, const Parameter& after, bool by_row) {
    std::shared_ptr<float[]> made = aligned<float>(after.size());
    std::fill_n(made.get(), after.size(), 0.0f);
    for (std::size_t row = 0; row < before.n_rows; ++row) {
      for (std::size_t x = 0; x < before.n_columns; ++x) {
        const std::size_t to_row = row + (by_row && row >= place ? 1 : 0), to_x = x + (!by_row && x >= place ? 1 : 0);
        made[to_row * after.stride + to_x] = from[row * before.stride + x];
      }
    }
    return made;
  };
  for (ParameterArrays* arrays :
       {&weights, &first_moments, &second_moments, &averaging.older, &averaging.newer, &recent.mean}) {
    if (!arrays->is_allocated()) continue;
    arrays->set(2 * l, widened((*arrays)[2 * l], parameters_[2 * l], weight, l != 0));
    arrays->set(2 * l + 1, widened((*arrays)[2 * l + 1], parameters_[2 * l + 1], bias, false));
  }
  layers_[l] = layer;
  parameters_[2 * l] = weight;
  parameters_[2 * l + 1] = bias;
  settings_.n_outputs += 1;
}

void Net::write_weights(WhichWeights which, Net& to, int n_threads) const {
  constexpr std::size_t kRows = 1024;
  for (std::size_t number = 0; number < parameters_.size(); ++number) {
    const std::size_t width = parameters_[number].stride, n_rows = parameters_[number].n_rows;
    StopToken stop_token = StopToken::never();
    n_threads = useful_threads(n_threads, n_rows * width / kMinNumbersPerThread);
    for_each_block(blocks_of(n_rows, kRows), n_threads, stop_token, [&] {
      return [&](std::size_t block) {
        for (std::size_t row = block * kRows; row < std::min((block + 1) * kRows, n_rows); ++row) {
          write_row(which, number, row, to.weights[number] + row * width);
        }
      };
    });
  }
}

}  // namespace gcwsnet
