// Training: many steps of Adam on the weights of a net, each on the loss of a batch of rows of codes.
//
// A step is two pieces of work. In the first one threads share the rows of the batch: outputs, losses, and the
// gradients of the outputs of all layers. In the second one they share the weights: each weight's gradient is summed
// over the rows in their order, by one thread, and applied at once. So neither the number of threads nor which of them
// does what changes a bit.
#pragma once

#include <stdexcept>

#include "net/net.hpp"

namespace gcwsnet {

// The loss of a batch, or its gradient, is infinite or NaN.
struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct AdamSettings {
  double beta1, beta2, epsilon, weight_decay;
  bool lazy;  // rows of the table that did not occur in a batch stay as they are
};

// Rows to learn from: `order` are their numbers, in batches of batch_size and a last one of what is left.
struct TrainingRows {
  CodeRows codes;
  Loss loss;
  Targets targets;
  const float* weights;       // factors of the losses of rows, or null
  const std::int64_t* order;  // or null for 0, 1, 2, ...
  std::size_t n, batch_size;  // n is the length of `order`
  const double* rates;        // the learning rate of each step

  std::size_t row(std::size_t place) const { return order == nullptr ? place : static_cast<std::size_t>(order[place]); }
};

// What is known of each batch before its step: the sum of its losses, the sums of its successes and the outputs for
// each row [n][n_outputs], or null.
struct TrainingRecord {
  double* losses;
  double* successes;
  float* outputs;
};

// All codes, targets and row numbers have been checked. Throws Interrupted or Diverged between two steps: the net is
// then that after the last whole step, and net.n_steps counts it.
void train(Net& net, const TrainingRows& rows, const AdamSettings& adam, const TrainingRecord& record, int n_threads,
           StopToken& stop_token);

}  // namespace gcwsnet
