#include "net/training_step.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "dispatch.hpp"
#include "net/functions.hpp"
#include "net/lookups.hpp"

namespace gcwsnet {

namespace {

constexpr Lookup kOnly = 0;  // looks up the only row of a gradient that has one

// The factors of step number `step`, from 1 on. Rows of the table that are updated lazily have epsilon beside the root
// that has not been corrected, as torch.optim.SparseAdam has it; everywhere else it is as in torch.optim.AdamW.
struct AdamFactors {
  AdamStep of_rows_used, of_all;

  AdamFactors(const AdamSettings& adam, double rate, std::int64_t step) {
    const double root = std::sqrt(1.0 - power(adam.beta2, step));
    const double corrected = rate / (1.0 - power(adam.beta1, step)) * root;
    of_rows_used = {static_cast<float>(corrected), static_cast<float>(1.0 - adam.beta1),
                    static_cast<float>(1.0 - adam.beta2), static_cast<float>(adam.epsilon),
                    static_cast<float>(1.0 - rate * adam.weight_decay)};
    of_all = of_rows_used;
    of_all.epsilon = static_cast<float>(adam.epsilon * root);
  }
};

// What a thread needs to sort the lookups of some groups and to sum their gradients.
struct Workspace {
  Workspace(int low_bits, std::size_t width)
      : sort(low_bits), gradient(aligned<float>(width)), sum(aligned<float>(width)), zero(aligned<float>(width)) {
    std::fill_n(zero.get(), width, 0.0f);
  }
  void reserve(std::size_t n_lookups) {
    if (n_lookups <= rows.size()) return;
    collected.resize(n_lookups);
    lookups.resize(n_lookups);
    rows.resize(n_lookups);
    ends.resize(n_lookups);
  }

  LookupSort sort;
  std::vector<RowAndLookup> collected;
  std::vector<Lookup> lookups;
  std::vector<std::uint32_t> rows;
  std::vector<std::size_t> ends;
  Aligned<float> gradient, sum, zero;
};

// Some outputs of a layer behind the first, of which one thread updates the weights; none: the biases of a layer.
struct DenseTask {
  std::size_t layer, begin, end;
};

class Training {
 public:
  Training(Net& net, const TrainingRows& rows, const AdamSettings& adam, const TrainingRecord& record, int n_threads)
      : net_(net),
        functions_(chosen_instruction_set().net),
        rows_(rows),
        adam_(adam),
        record_(record),
        most_(std::min(rows.batch_size, rows.n)),
        n_kinds_(n_successes(rows.loss, net.n_outputs())),
        outputs_(net.layers(), most_),
        gradients_(net.layers(), most_),
        lookups_(net.rows(), most_),
        all_samples_(most_),
        losses_(most_),
        successes_(most_ * n_kinds_),
        team_(useful_threads(n_threads, most_ * net.settings().n_hashes * width() / kMinNumbersPerThread)) {
    for (std::size_t i = 0; i < most_; ++i) all_samples_[i] = static_cast<Lookup>(2 * i);
    std::size_t widest = 0;
    for (const Parameter& parameter : net.parameters()) widest = std::max(widest, parameter.stride);
    for (int member = 0; member < team_.n_members(); ++member) workspaces_.emplace_back(lookups_.low_bits(), widest);
    divide_layers();
    const std::size_t n_blocks = team_.n_members() == 1 ? 1 : 16 * static_cast<std::size_t>(team_.n_members());
    const std::size_t max_groups = std::max(kMaxGroupsPerBlock, kLookupsPerBlock / most_);
    groups_per_block_ = std::clamp<std::size_t>(lookups_.n_groups() / n_blocks, 1, max_groups);
  }

  // One step on the rows at places from `first` on, on one thread if more are slower now.
  void measured_step(std::size_t number, std::size_t first, std::size_t n) {
    using Clock = std::chrono::steady_clock;
    team_.share(net_.speedup.is_shared());
    const auto begin = Clock::now();
    step(number, first, n);
    if (team_.n_members() > 1) net_.speedup.record(std::chrono::duration<double>(Clock::now() - begin).count());
  }

 private:
  void step(std::size_t number, std::size_t first, std::size_t n) {
    const std::size_t per_block = samples_per_block(n);
    team_.for_each_block(blocks_of(n, per_block), [&](std::size_t block, int) {
      const std::size_t begin = block * per_block;
      compute_gradients(first, n, begin, std::min(begin + per_block, n));
    });
    write_record(number, first, n);
    const std::size_t n_table_blocks = blocks_of(lookups_.n_groups(), groups_per_block_);
    reserve(n, n_table_blocks);

    const AdamFactors factors(adam_, rows_.rates[number], net_.n_steps.load(std::memory_order_relaxed) + 1);
    team_.for_each_block(dense_tasks_.size() + n_table_blocks, [&](std::size_t block, int member) {
      Workspace& workspace = workspaces_[static_cast<std::size_t>(member)];
      if (block < dense_tasks_.size()) {
        update_dense(factors.of_all, dense_tasks_[block], n, workspace);
      } else {
        const std::size_t begin = (block - dense_tasks_.size()) * groups_per_block_;
        update_groups(factors, begin, std::min(begin + groups_per_block_, lookups_.n_groups()), n, workspace);
      }
    });
    net_.rows_seen.fetch_add(static_cast<std::int64_t>(n), std::memory_order_relaxed);
    net_.n_steps.fetch_add(1, std::memory_order_relaxed);
    net_.after_step(n);
  }

  static constexpr std::size_t kMaxGroupsPerBlock = 8, kLookupsPerBlock = 128;  // sorted before their rows are updated
  static constexpr std::size_t kMaxSamplesPerBlock = 128;

  std::size_t width() const { return net_.layers()[0].out_stride; }

  // As many as possible: samples of a block share the rows of the table that they both use.
  std::size_t samples_per_block(std::size_t n) const {
    return std::min(blocks_of(n, static_cast<std::size_t>(team_.n_active())), kMaxSamplesPerBlock);
  }

  void divide_layers() {
    constexpr std::size_t kNumbers = 1 << 15;  // of products, that are worth a block
    for (std::size_t l = 0; l < net_.layers().size(); ++l) {
      dense_tasks_.push_back({l, 0, 0});
      if (l == 0) continue;
      const Layer& layer = net_.layers()[l];
      const std::size_t units = std::max<std::size_t>(1, kNumbers / (net_.layers()[l - 1].out_stride * most_));
      for (std::size_t begin = 0; begin < layer.n_out; begin += units) {
        dense_tasks_.push_back({l, begin, std::min(begin + units, layer.n_out)});
      }
    }
  }

  // Outputs, losses and gradients of the samples from begin to end of a batch of n.
  void compute_gradients(std::size_t first, std::size_t n, std::size_t begin, std::size_t end) {
    const std::vector<Layer>& layers = net_.layers();
    const std::size_t n_outputs = net_.n_outputs();
    for (std::size_t i = begin; i < end; ++i) lookups_.fill(i, rows_.codes, rows_.row(first + i));
    net_.forward(lookups_.of_sample(begin), lookups_.stride(), begin, end - begin, outputs_);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = rows_.row(first + i);
      const double weight = rows_.weights == nullptr ? 1.0 : static_cast<double>(rows_.weights[row]);
      losses_[i] = row_loss(rows_.loss, outputs_.last_row(i), n_outputs, rows_.targets, row,
                            weight / static_cast<double>(n), &successes_[i * n_kinds_], gradients_.last_row(i));
      if (record_.outputs == nullptr) continue;
      std::copy_n(outputs_.last_row(i), n_outputs, record_.outputs + (first + i) * n_outputs);
    }
    for (std::size_t l = layers.size() - 1; l > 0; --l) {
      const std::size_t below = layers[l - 1].out_stride;
      const MatrixRows weights{net_.weights[2 * l], layers[l].n_out, below};
      for (std::size_t i = begin; i < end; ++i) {
        functions_.sum_of_multiples(weights, gradients_.row(l, i), 1, below, gradients_.row(l - 1, i));
        functions_.relu_backward(outputs_.row(l - 1, i), below, gradients_.row(l - 1, i));
      }
    }
  }

  void write_record(std::size_t number, std::size_t first, std::size_t n) {
    double loss = 0.0;
    for (std::size_t i = 0; i < n; ++i) loss += losses_[i];
    if (!std::isfinite(loss)) {
      throw Diverged("the loss of step " + std::to_string(number + 1) + " of " +
                     std::to_string(blocks_of(rows_.n, rows_.batch_size)) + ", of the rows from place " +
                     std::to_string(first) + " on, is infinite or NaN, or its gradient is");
    }
    record_.losses[number] = loss;
    double* successes = record_.successes + number * n_kinds_;
    std::fill_n(successes, n_kinds_, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t kind = 0; kind < n_kinds_; ++kind) successes[kind] += successes_[i * n_kinds_ + kind];
    }
  }

  // Here and not where it is needed: an update that has begun must not fail.
  void reserve(std::size_t n, std::size_t n_table_blocks) {
    std::size_t most = 0;
    for (std::size_t block = 0; block < n_table_blocks; ++block) {
      const std::size_t begin = block * groups_per_block_;
      const std::size_t end = std::min(begin + groups_per_block_, lookups_.n_groups());
      most = std::max(most, lookups_.n_lookups(begin, end, n));
      if (!lookups_.has_signs()) break;  // all other blocks have as many, or fewer
    }
    for (Workspace& workspace : workspaces_) workspace.reserve(most);
  }

  AdamRow row_of_parameter(std::size_t number, std::size_t row) const {
    const std::size_t at = row * net_.parameters()[number].stride;
    return {net_.weights[number] + at, adam_.beta1 == 0.0 ? nullptr : net_.first_moments[number] + at,
            net_.second_moments[number] + at};
  }

  void update_dense(const AdamStep& step, const DenseTask& task, std::size_t n, Workspace& workspace) {
    const std::size_t out_stride = net_.layers()[task.layer].out_stride;
    const float* gradients = gradients_.row(task.layer, 0);
    if (task.begin == task.end) {
      functions_.adam_row(step, gradients, out_stride, {all_samples_.data(), n, false}, workspace.sum.get(),
                          row_of_parameter(2 * task.layer + 1, 0));
      return;
    }
    const MatrixRows inputs = outputs_.rows(task.layer - 1, 0, n);
    for (std::size_t unit = task.begin; unit < task.end; ++unit) {
      functions_.sum_of_multiples(inputs, gradients + unit, out_stride, inputs.stride, workspace.gradient.get());
      functions_.adam_row(step, workspace.gradient.get(), inputs.stride, {&kOnly, 1, false}, workspace.sum.get(),
                          row_of_parameter(2 * task.layer, unit));
    }
  }

  void update_groups(const AdamFactors& factors, std::size_t begin, std::size_t end, std::size_t n,
                     Workspace& workspace) {
    std::size_t n_rows = 0, n_lookups = 0;
    for (std::size_t group = begin; group < end; ++group) {
      const std::size_t n_here = lookups_.collect(group, n, workspace.collected.data());
      const SortedGroup to{workspace.lookups.data() + n_lookups, workspace.rows.data() + n_rows,
                           workspace.ends.data() + n_rows, n_lookups};
      n_rows += workspace.sort(workspace.collected.data(), n_here, to);
      n_lookups += n_here;
    }
    constexpr std::size_t kAhead = 4;
    std::size_t first_lookup = 0, next_row = lookups_.first_row(begin);
    for (std::size_t r = 0; r < std::min(2 * kAhead, n_rows); ++r) net_.prefetch_mean_counters(workspace.rows[r]);
    for (std::size_t r = 0; r < n_rows; ++r) {
      const std::size_t row = workspace.rows[r];
      if (!adam_.lazy) update_others(factors.of_all, next_row, row, workspace);
      next_row = row + 1;
      if (r + 2 * kAhead < n_rows) net_.prefetch_mean_counters(workspace.rows[r + 2 * kAhead]);
      if (r + kAhead < n_rows) {
        const std::size_t ahead = workspace.rows[r + kAhead];
        functions_.prefetch_adam_row(row_of_parameter(0, ahead), width());
        net_.prefetch_stale_means(ahead);
      }
      const Lookups lookups{workspace.lookups.data() + first_lookup, workspace.ends[r] - first_lookup,
                            lookups_.has_signs()};
      first_lookup = workspace.ends[r];
      update_row(adam_.lazy ? factors.of_rows_used : factors.of_all, gradients_.row(0, 0), lookups, row, workspace);
    }
    if (!adam_.lazy) update_others(factors.of_all, next_row, lookups_.end_row(end - 1), workspace);
  }

  // Rows that did not occur.
  void update_others(const AdamStep& step, std::size_t begin, std::size_t end, Workspace& workspace) {
    for (std::size_t row = begin; row < end; ++row) {
      update_row(step, workspace.zero.get(), {&kOnly, 1, false}, row, workspace);
    }
  }

  void update_row(const AdamStep& step, const float* gradient, const Lookups& lookups, std::size_t row,
                  Workspace& workspace) {
    net_.update_means(functions_, row);
    functions_.adam_row(step, gradient, width(), lookups, workspace.sum.get(), row_of_parameter(0, row));
  }

  Net& net_;
  const NetFunctions& functions_;
  const TrainingRows& rows_;
  const AdamSettings& adam_;
  const TrainingRecord& record_;
  std::size_t most_;     // rows of a batch
  std::size_t n_kinds_;  // of successes
  LayerOutputs outputs_, gradients_;
  BatchLookups lookups_;
  std::vector<Lookup> all_samples_;
  std::vector<double> losses_, successes_;  // of each sample of the batch
  std::vector<DenseTask> dense_tasks_;
  std::vector<Workspace> workspaces_;
  std::size_t groups_per_block_;
  Team team_;  // the first to go: its threads use all of the above
};

}  // namespace

void train(Net& net, const TrainingRows& rows, const AdamSettings& adam, const TrainingRecord& record, int n_threads,
           StopToken& stop_token) {
  if (rows.n == 0) return;
  if (!net.second_moments.is_allocated()) net.second_moments.allocate_zeros(net.parameters());
  if (adam.beta1 != 0.0 && !net.first_moments.is_allocated()) net.first_moments.allocate_zeros(net.parameters());
  const DefaultFloatEnvironment environment;
  Training training(net, rows, adam, record, n_threads);
  for (std::size_t number = 0; number * rows.batch_size < rows.n; ++number) {
    stop_token.poll();
    const std::size_t first = number * rows.batch_size;
    training.measured_step(number, first, std::min(rows.batch_size, rows.n - first));
  }
}

}  // namespace gcwsnet
