// Python's side of the nets that are trained natively.
#include "net/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "net/training_step.hpp"

namespace gcwsnet {

namespace {

// The codes of a row, its target and its weight: what cannot be checked by sizes alone.
class RowCheck {
 public:
  RowCheck(const Net& net, const CodeRows& codes, Loss loss, const Targets& targets, const float* weights)
      : bits_(net.settings().bits),
        n_outputs_(net.n_outputs()),
        codes_(codes),
        loss_(loss),
        targets_(targets),
        weights_(weights) {}

  void operator()(std::size_t row) const {
    check_codes(codes_, bits_, row);
    if (is_of_classes(loss_)) {
      const std::int64_t target = targets_.classes[row];
      if (target < 0 || target >= static_cast<std::int64_t>(n_outputs_)) {
        refuse("targets must be class numbers from 0 to " + text(n_outputs_ - 1) + ", targets[" + text(row) + "] is " +
               std::to_string(target));
      }
    } else {
      const float* numbers = targets_.numbers + row * n_outputs_;
      for (std::size_t q = 0; q < n_outputs_; ++q) {
        if (!std::isfinite(numbers[q])) refuse_number("targets[" + text(row) + ", " + text(q) + "]", numbers[q]);
      }
    }
    if (weights_ != nullptr && !std::isfinite(weights_[row]))
      refuse_number("weights[" + text(row) + "]", weights_[row]);
  }

 private:
  static void refuse_number(const std::string& place, float number) {
    refuse("targets and weights must be finite, " + place + " is " + std::to_string(number));
  }

  int bits_;
  std::size_t n_outputs_;
  const CodeRows& codes_;
  Loss loss_;
  const Targets& targets_;
  const float* weights_;
};

Loss loss_of(const std::string& name) {
  if (const std::optional<Loss> loss = loss_named(name)) return *loss;
  refuse(
      "loss must be 'cross_entropy', 'squared_error', 'absolute_error', 'huber' or 'binary_cross_entropy', got loss='" +
      name + "'");
}

Targets targets_of(const Array& targets, Loss loss, std::size_t n, std::size_t n_outputs) {
  Targets found;
  if (is_of_classes(loss)) {
    found.classes =
        shaped<const std::int64_t>(targets, {n}, "targets of classes must be int64, one for each row of codes");
  } else {
    found.numbers = shaped<const float>(targets, {n, n_outputs},
                                        "targets of numbers must be float32, rows of codes x outputs, and contiguous");
  }
  return found;
}

void train_from_python(Net& net, const Matrix& codes, const Array& targets, const std::optional<Array>& weights,
                       const std::optional<Array>& order, std::size_t batch_size, const Array& rates,
                       const OutArray& losses, const OutArray& successes, const std::optional<OutArray>& outputs,
                       const std::string& loss_name, std::pair<double, double> betas, double eps, double weight_decay,
                       bool lazy, int n_threads) {
  const Loss loss = loss_of(loss_name);
  const std::size_t n_outputs = net.n_outputs();
  TrainingRows rows{
      code_rows(net.settings().n_hashes, codes), loss, {}, nullptr, nullptr, codes.shape(0), batch_size, nullptr};
  const std::size_t n_rows = rows.codes.n;
  rows.targets = targets_of(targets, loss, n_rows, n_outputs);
  if (weights)
    rows.weights = shaped<const float>(*weights, {n_rows}, "weights must be float32, one for each row of codes");
  if (order) {
    require(order->ndim() == 1, "order must be a vector of row numbers");
    rows.n = order->shape(0);
    rows.order = shaped<const std::int64_t>(*order, {rows.n}, "order must be int64 and contiguous");
  }
  require(batch_size >= 1, "batch_size must be at least 1");
  if (std::min(batch_size, rows.n) >= kMaxTableRows) refuse("a batch must have less than 2**31 rows");
  const std::size_t n_steps = rows.n / batch_size + (rows.n % batch_size != 0);
  rows.rates = shaped<const double>(rates, {n_steps}, "rates must be float64, one for each batch");
  for (std::size_t step = 0; step < n_steps; ++step) {
    if (!std::isfinite(rows.rates[step]) || rows.rates[step] < 0.0) {
      refuse("rates must be finite and at least 0, rates[" + text(step) + "] is " + std::to_string(rows.rates[step]));
    }
  }
  const AdamSettings adam{betas.first, betas.second, eps, weight_decay, lazy};
  require(adam.beta1 >= 0.0 && adam.beta1 < 1.0 && adam.beta2 >= 0.0 && adam.beta2 < 1.0,
          "betas must be two numbers from 0 to below 1");
  // Less might be zero when it is multiplied with the correction of a root.
  require(std::isfinite(eps) && eps >= 1e-30, "eps must be a finite number of at least 1e-30");
  require(std::isfinite(weight_decay) && weight_decay >= 0.0, "weight_decay must be a finite number of at least 0");
  const std::vector<std::size_t> success_shape =
      is_of_classes(loss) ? std::vector{n_steps} : std::vector{n_steps, n_outputs};
  const TrainingRecord record{
      shaped<double>(losses, {n_steps}, "losses must be float64, one for each batch"),
      shaped<double>(
          successes, success_shape,
          "successes must be float64, one for each batch, or batches x outputs for targets that are numbers"),
      outputs ? shaped<float>(*outputs, {rows.n, n_outputs}, "outputs must be float32, rows of `order` x outputs")
              : nullptr};
  without_gil([&](StopToken& stop_token) {
    const RowCheck check(net, rows.codes, loss, rows.targets, rows.weights);
    for (std::size_t place = 0; place < rows.n; ++place) {
      if (rows.order != nullptr && (rows.order[place] < 0 || rows.order[place] >= static_cast<std::int64_t>(n_rows))) {
        refuse("order must hold numbers of the " + text(n_rows) + " rows of codes, order[" + text(place) + "] is " +
               std::to_string(rows.order[place]));
      }
      check(rows.row(place));
    }
    const std::unique_lock<std::shared_mutex> lock(net.mutex);
    train(net, rows, adam, record, n_threads, stop_token);
  });
}

// The weights that a name stands for, which must be there.
WhichWeights weights_named(const Net& net, const std::string& name) {
  if (name == "last") return WhichWeights::kLast;
  if (name == "average") {
    require(net.averaging.is_on, "the net does not average its weights; call start_averaging first");
    return WhichWeights::kAverage;
  }
  require(name == "recent", "weights must be 'last', 'recent' or 'average'");
  require(net.recent.is_on, "the net has no mean of recent weights; call start_recent_mean first");
  return WhichWeights::kRecent;
}

nb::object outputs_from_python(const Net& net, const Matrix& codes, int n_threads, const std::string& weights) {
  const CodeRows rows = code_rows(net.settings().n_hashes, codes);
  const WhichWeights which = weights_named(net, weights);
  const std::size_t n_outputs = net.n_outputs();
  auto out = std::make_unique<float[]>(rows.n * n_outputs);
  without_gil([&](StopToken& stop_token) {
    for (std::size_t row = 0; row < rows.n; ++row) check_codes(rows, net.settings().bits, row);
    const std::shared_lock<std::shared_mutex> lock(net.mutex);
    net.outputs(rows, which, out.get(), n_threads, stop_token);
  });
  return matrix(std::move(out), rows.n, n_outputs);
}

nb::object rows_used_from_python(const Net& net, const Matrix& codes) {
  const CodeRows rows = code_rows(net.settings().n_hashes, codes);
  std::vector<std::int64_t> found;
  without_gil([&](StopToken& stop_token) {
    std::vector<char> is_used(net.rows().n_rows());
    std::vector<Lookup> lookups(rows.n_hashes);
    for (std::size_t row = 0; row < rows.n; ++row) {
      if (row % 1024 == 0) stop_token.poll();
      check_codes(rows, net.settings().bits, row);
      rows.lookups(net.rows(), row, lookups.data());
      for (const Lookup lookup : lookups) is_used[lookup >> 1] = 1;
    }
    for (std::size_t row = 0; row < is_used.size(); ++row) {
      if (is_used[row] != 0) found.push_back(static_cast<std::int64_t>(row));
    }
  });
  return nb::cast(as_array(std::move(found)));
}

nb::object changed_rows_from_python(const Net& net, int n_threads) {
  const std::size_t n_rows = net.rows().n_rows();
  auto changed = std::make_unique<bool[]>(n_rows);
  without_gil([&](StopToken& stop_token) {
    const std::shared_lock<std::shared_mutex> lock(net.mutex);
    net.write_changed_rows(changed.get(), n_threads, stop_token);
  });
  return vector(std::move(changed), n_rows);
}

nb::tuple score_from_python(const Net& net, const Matrix& codes, const Array& targets,
                            const std::vector<std::string>& weights, const std::string& loss_name, float temperature,
                            int n_threads) {
  const Loss loss = loss_of(loss_name);
  const CodeRows rows = code_rows(net.settings().n_hashes, codes);
  const std::size_t n_outputs = net.n_outputs();
  const Targets wanted = targets_of(targets, loss, rows.n, n_outputs);
  std::vector<WhichWeights> which;
  for (const std::string& name : weights) which.push_back(weights_named(net, name));
  auto outputs = std::make_unique<float[]>(which.size() * rows.n * n_outputs);
  auto losses = std::make_unique<double[]>(which.size() * rows.n);
  without_gil([&](StopToken& stop_token) {
    const RowCheck check(net, rows, loss, wanted, nullptr);
    for (std::size_t row = 0; row < rows.n; ++row) check(row);
    const std::shared_lock<std::shared_mutex> lock(net.mutex);
    std::vector<float> divided(n_outputs);
    std::vector<double> successes(n_successes(loss, n_outputs));
    for (std::size_t w = 0; w < which.size(); ++w) {
      float* found = outputs.get() + w * rows.n * n_outputs;
      net.outputs(rows, which[w], found, n_threads, stop_token);
      for (std::size_t row = 0; row < rows.n; ++row, found += n_outputs) {
        for (std::size_t q = 0; q < n_outputs; ++q) divided[q] = found[q] / temperature;
        losses[w * rows.n + row] =
            row_loss(loss, divided.data(), n_outputs, wanted, row, 1.0, successes.data(), nullptr);
      }
    }
  });
  return nb::make_tuple(matrix(std::move(outputs), which.size() * rows.n, n_outputs),
                        matrix(std::move(losses), which.size(), rows.n));
}

nb::tuple evaluate_from_python(const Net& net, const Matrix& codes, const Array& targets, const std::string& loss_name,
                               int n_threads) {
  const Loss loss = loss_of(loss_name);
  const CodeRows rows = code_rows(net.settings().n_hashes, codes);
  const Targets wanted = targets_of(targets, loss, rows.n, net.n_outputs());
  std::vector<double> successes(n_successes(loss, net.n_outputs()));
  double sum = 0.0;
  without_gil([&](StopToken& stop_token) {
    const RowCheck check(net, rows, loss, wanted, nullptr);
    for (std::size_t row = 0; row < rows.n; ++row) check(row);
    const std::shared_lock<std::shared_mutex> lock(net.mutex);
    sum = net.evaluate(rows, wanted, loss, successes.data(), n_threads, stop_token);
  });
  nb::list of_outputs;
  for (const double success : successes) of_outputs.append(success);
  return nb::make_tuple(sum, of_outputs);
}

// Numbers that Python may read and write, kept as long as it does.
template <class Number>
nb::ndarray<nb::numpy, Number> view(std::shared_ptr<Number[]> numbers, std::initializer_list<std::size_t> shape,
                                    std::initializer_list<std::int64_t> strides) {
  Number* data = numbers.get();
  auto kept = std::make_unique<std::shared_ptr<Number[]>>(std::move(numbers));
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::shared_ptr<Number[]>*>(p); });
  return nb::ndarray<nb::numpy, Number>(data, shape, owner, strides);
}

nb::dict views(const Net& net, const ParameterArrays& arrays, const std::string& prefix = "") {
  nb::dict named;
  for (std::size_t number = 0; number < net.parameters().size(); ++number) {
    const Parameter& parameter = net.parameters()[number];
    const std::string name = prefix + parameter.name;
    const auto stride = static_cast<std::int64_t>(parameter.stride);
    named[name.c_str()] = parameter.is_vector
                              ? view(arrays.shared(number), {parameter.n_columns}, {1})
                              : view(arrays.shared(number), {parameter.n_rows, parameter.n_columns}, {stride, 1});
  }
  return named;
}

// Work on a net that nothing else reads or changes meanwhile.
template <class Work>
void with_exclusive_lock(Net& net, Work work) {
  nb::gil_scoped_release released;
  const std::unique_lock<std::shared_mutex> lock(net.mutex);
  work();
}

nb::dict moments(Net& net, ParameterArrays& arrays) {
  with_exclusive_lock(net, [&] {
    if (!arrays.is_allocated()) arrays.allocate_zeros(net.parameters());
  });
  return views(net, arrays);
}

void require_rows(std::int64_t n) {
  require(n >= 0 && n <= std::int64_t{1} << 56, "numbers of rows seen must be from 0 to 2**56");
}

void require_averaging(const Net& net) { weights_named(net, "average"); }

using AveragingRows = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

void bind_averaging(nb::class_<Net>& net) {
  net.def(
         "start_averaging",
         [](Net& self, bool from_now) { with_exclusive_lock(self, [&] { self.start_averaging(from_now); }); },
         "from_now"_a = false,
         "Average the weights from now on, over the last half to three quarters of the rows seen. The weights as they "
         "are "
         "count as the mean over the second half of `rows_seen`; with `from_now` earlier rows do not count.")
      .def(
          "stop_averaging", [](Net& self) { with_exclusive_lock(self, [&] { self.stop_averaging(); }); },
          "Forget all averages, and the mean of recent weights.")
      .def_prop_ro(
          "is_averaging", [](const Net& self) { return self.averaging.is_on; }, "Whether the weights are averaged.")
      .def(
          "averaged",
          [](const Net& self, int n_threads, const std::string& weights) {
            const WhichWeights which = weights_named(self, weights);
            auto mean = std::make_unique<Net>(self.settings(), false);
            nb::gil_scoped_release released;
            const std::shared_lock<std::shared_mutex> lock(self.mutex);
            self.write_weights(which, *mean, n_threads);
            mean->rows_seen.store(self.rows_seen.load());
            mean->n_steps.store(self.n_steps.load());
            return mean;
          },
          "n_threads"_a = 1, "weights"_a = "average",
          "Return a net with the mean weights, to predict with: 'average' over the last half of the stream, or "
          "'recent'.")
      .def(
          "averages",
          [](Net& self) {
            require_averaging(self);
            with_exclusive_lock(self, [&] { self.sync_averages(); });
            nb::dict named = views(self, self.averaging.older, "older.");
            named.update(views(self, self.averaging.newer, "newer."));
            named["taken"] = view(self.averaging.taken, {self.rows().n_rows()}, {1});
            return named;
          },
          nb::sig("def averages(self) -> dict[str, numpy.typing.NDArray]"),
          "Return views of what the averages are made of, by name: with `averaging_rows` all that has to be saved. "
          "They "
          "are of no use after a step of training.")
      .def_prop_rw(
          "averaging_rows",
          [](const Net& self) {
            require_averaging(self);
            const Averaging& of = self.averaging;
            return AveragingRows(of.start, of.older_rows, of.newer_rows, of.origin);
          },
          [](Net& self, const AveragingRows& rows) {
            require_averaging(self);
            const auto [start, older, newer, origin] = rows;
            for (const std::int64_t n : {start, older, newer, origin}) require_rows(n);
            with_exclusive_lock(self, [&] {
              self.averaging.start = start;
              self.averaging.older_rows = older;
              self.averaging.newer_rows = newer;
              self.averaging.origin = origin;
              std::fill_n(self.averaging.newer_since.get(), self.rows().n_rows(), start);
            });
          },
          "Rows before the newer part of the averages, those of its older and newer part, and the rows seen before the "
          "averages began; set them to load a net.")
      .def(
          "start_recent_mean",
          [](Net& self, double keep) {
            require(keep > 0.0 && keep < 1.0, "keep must be between 0 and 1");
            with_exclusive_lock(self, [&] { self.start_recent_mean(keep); });
          },
          "keep"_a,
          "Keep a mean of the weights over recent rows, each of which counts `keep` times as much as the next one.")
      .def_prop_ro(
          "has_recent_mean", [](const Net& self) { return self.recent.is_on; }, "Whether there is such a mean.")
      .def(
          "recent_mean",
          [](const Net& self) {
            weights_named(self, "recent");
            nb::dict named = views(self, self.recent.mean);
            named["taken"] = view(self.recent.taken, {self.rows().n_rows()}, {1});
            return named;
          },
          nb::sig("def recent_mean(self) -> dict[str, numpy.typing.NDArray]"),
          "Return views of what the mean of recent weights is made of, by name: all that has to be saved of it. They "
          "are "
          "of no use after a step of training.")
      .def(
          "insert_output",
          [](Net& self, std::size_t place) {
            require(place <= self.n_outputs(), "place must be from 0 to n_outputs");
            with_exclusive_lock(self, [&] { self.insert_output(place); });
          },
          "place"_a,
          "Make room for one more output in front of output number `place`. Its weights, and all that is kept of them, "
          "are "
          "zero. Views of the last layer that were made before are of no use any more.");
}

}  // namespace

void bind_net(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& failure, void*) {
    try {
      std::rethrow_exception(failure);
    } catch (const Diverged& error) {
      PyErr_SetString(PyExc_FloatingPointError, error.what());
    }
  });

  nb::class_<Net> net(
      m, "Net",
      "A net on codes: a table of which each code looks up a row, then ReLU and dense layers in turn.\n\n"
      "Its weights are float32. Equal settings and rows give equal bytes of weights for any number of "
      "threads, on any instruction set.");
  net.def(
         "__init__",
         [](Net* self, std::size_t n_hashes, int bits, const std::vector<std::size_t>& hidden, std::size_t n_outputs,
            std::uint64_t reduction, std::uint64_t seed, double scale, bool initialize) {
           const NetSettings settings{n_hashes, bits, hidden, n_outputs, reduction, seed, scale};
           check_settings(settings);
           nb::gil_scoped_release released;
           new (self) Net(settings, initialize);
         },
         "n_hashes"_a, "bits"_a, "hidden"_a, "n_outputs"_a, nb::kw_only(), "reduction"_a = 1, "seed"_a = 0,
         "scale"_a = 0.3, "initialize"_a = true,
         "Draw initial weights from the seed, or make all of them zero. `reduction` is the factor by which a "
         "count-sketch "
         "shortens the table; 1 is none.")
      .def_prop_ro(
          "n_hashes", [](const Net& self) { return self.settings().n_hashes; }, "k, the columns of codes.")
      .def_prop_ro(
          "bits", [](const Net& self) { return self.settings().bits; }, "b, the bits of a code.")
      .def_prop_ro(
          "hidden", [](const Net& self) { return nb::tuple(nb::cast(self.settings().hidden)); },
          "The units of the hidden layers.")
      .def_prop_ro(
          "n_outputs", [](const Net& self) { return self.n_outputs(); }, "The outputs of the last layer.")
      .def_prop_ro(
          "reduction", [](const Net& self) { return self.settings().reduction; },
          "The factor by which a count-sketch shortens the table.")
      .def_prop_ro(
          "seed", [](const Net& self) { return self.settings().seed; },
          "What initial weights, and bins and signs of a sketch, are drawn from.")
      .def_prop_ro(
          "n_table_rows", [](const Net& self) { return self.rows().n_rows(); }, "The rows of the table.")
      .def_prop_rw(
          "n_steps", [](const Net& self) { return self.n_steps.load(); },
          [](Net& self, std::int64_t n) {
            require(n >= 0, "n_steps must be at least 0");
            self.n_steps.store(n);
          },
          "The steps of the optimizer so far. They may be read while another thread trains the net.")
      .def_prop_rw(
          "rows_seen", [](const Net& self) { return self.rows_seen.load(); },
          [](Net& self, std::int64_t n) {
            require_rows(n);
            self.rows_seen.store(n);
          },
          "The rows learned so far, those of all epochs.")
      .def(
          "weights", [](const Net& self) { return views(self, self.weights); },
          nb::sig("def weights(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]"),
          "Return views of all weights, by the names of the torch net: layers.0.weight is the table.")
      .def(
          "first_moments", [](Net& self) { return moments(self, self.first_moments); },
          nb::sig("def first_moments(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]"),
          "Return views of Adam's means of gradients. Without any they are made, of zeros.")
      .def(
          "second_moments", [](Net& self) { return moments(self, self.second_moments); },
          nb::sig("def second_moments(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]"),
          "Return views of Adam's means of squared gradients. Without any they are made, of zeros.")
      .def_prop_ro(
          "has_first_moments", [](const Net& self) { return self.first_moments.is_allocated(); },
          "Whether there are means of gradients; without momentum there are none.")
      .def_prop_ro(
          "has_second_moments", [](const Net& self) { return self.second_moments.is_allocated(); },
          "Whether there are means of squared gradients; before the first step there are none.")
      .def("train", &train_from_python, "codes"_a.noconvert(), "targets"_a.noconvert(), nb::kw_only(),
           "weights"_a.noconvert().none() = nb::none(), "order"_a.noconvert().none() = nb::none(), "batch_size"_a,
           "rates"_a.noconvert(), "losses"_a.noconvert(), "successes"_a.noconvert(),
           "outputs"_a.noconvert().none() = nb::none(), "loss"_a = "cross_entropy",
           "betas"_a = std::pair<double, double>(0.0, 0.999), "eps"_a = 1e-8, "weight_decay"_a = 0.0, "lazy"_a = true,
           "n_threads"_a = 1,
           "Learn from the rows that `order` numbers, batch after batch, with one learning rate for each.\n\n"
           "Written are, for each batch before its step, the sum of the losses of its rows (without weights), the sums "
           "of "
           "their successes (rows whose largest output is their class, or the squared error of each output) and, if "
           "wanted, the outputs for each row. The gradient is that of the sum of weights times losses over the number "
           "of "
           "rows. A loss that is not finite is a FloatingPointError. After it, and after a KeyboardInterrupt, the net "
           "is "
           "that after the last whole step, which `n_steps` counts.")
      .def("outputs", &outputs_from_python, "codes"_a.noconvert(), "n_threads"_a = 1, "weights"_a = "last",
           nb::sig("def outputs(self, codes: numpy.typing.NDArray, n_threads: int = 1, weights: str = 'last') -> "
                   "numpy.typing.NDArray[numpy.float32]"),
           "Return the outputs for each row of codes. They do not depend on the other rows. `weights` are the 'last' "
           "ones, "
           "or the means 'recent' or 'average', of which only what is needed is computed: the same bits as those of "
           "`averaged`, in less time for few rows.")
      .def("rows_used", &rows_used_from_python, "codes"_a.noconvert(),
           nb::sig("def rows_used(self, codes: numpy.typing.NDArray) -> numpy.typing.NDArray[numpy.int64]"),
           "Return the rows of the table that codes look up, ascending: those that `train` changes if it is lazy.")
      .def("changed_rows", &changed_rows_from_python, "n_threads"_a = 1,
           nb::sig("def changed_rows(self, n_threads: int = 1) -> numpy.typing.NDArray[numpy.bool_]"),
           "Return for each row of the table whether training has changed it: whether a weight is another than was "
           "drawn, by more than rounding.")
      .def("score", &score_from_python, "codes"_a.noconvert(), "targets"_a.noconvert(), nb::kw_only(), "weights"_a,
           "loss"_a = "cross_entropy", "temperature"_a = 1.0f, "n_threads"_a = 1,
           nb::sig("def score(self, codes: numpy.typing.NDArray, targets: numpy.typing.NDArray, *, weights: "
                   "collections.abc.Sequence[str], loss: str = 'cross_entropy', temperature: float = 1.0, n_threads: "
                   "int = 1) "
                   "-> tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float64]]"),
           "Return the outputs for all rows of codes by each of several weights, those of the first weights first, and "
           "the "
           "losses of outputs divided by the temperature, a row for each weights: what `outputs` and `row_losses` "
           "give, in "
           "one call.")
      .def("evaluate", &evaluate_from_python, "codes"_a.noconvert(), "targets"_a.noconvert(), nb::kw_only(),
           "loss"_a = "cross_entropy", "n_threads"_a = 1,
           nb::sig("def evaluate(self, codes: numpy.typing.NDArray, targets: numpy.typing.NDArray, *, loss: str = "
                   "'cross_entropy', n_threads: int = 1) -> tuple[float, list[float]]"),
           "Return the sum of the losses of rows and the sums of their successes, as `train` counts them.");
  bind_averaging(net);

  m.def(
      "row_losses",
      [](const Array& outputs, const Array& targets, const std::string& loss_name) {
        const Loss loss = loss_of(loss_name);
        require(outputs.ndim() == 2 && outputs.shape(1) >= 1, "outputs must be rows x outputs, at least one of them");
        const std::size_t n_rows = outputs.shape(0), n = outputs.shape(1);
        const float* from = shaped<const float>(outputs, {n_rows, n}, "outputs must be float32 and contiguous");
        const Targets wanted = targets_of(targets, loss, n_rows, n);
        std::vector<double> successes(n_successes(loss, n));
        auto out = std::make_unique<double[]>(n_rows);
        for (std::size_t row = 0; row < n_rows; ++row) {
          require(
              !is_of_classes(loss) || (wanted.classes[row] >= 0 && wanted.classes[row] < static_cast<std::int64_t>(n)),
              "targets must be class numbers, one of the outputs each");
          out[row] = row_loss(loss, from + row * n, n, wanted, row, 1.0, successes.data(), nullptr);
        }
        return matrix(std::move(out), n_rows, 1);
      },
      "outputs"_a.noconvert(), "targets"_a.noconvert(), "loss"_a = "cross_entropy",
      nb::sig(
          "def row_losses(outputs: numpy.typing.NDArray, targets: numpy.typing.NDArray, loss: str = 'cross_entropy') "
          "-> numpy.typing.NDArray[numpy.float64]"),
      "Return the loss of each row of outputs as a column: the same bytes on every machine.");

  m.def(
      "softmax",
      [](const Array& outputs) {
        require(outputs.ndim() == 2 && outputs.shape(1) >= 1, "outputs must be rows x classes, at least one of them");
        const std::size_t n_rows = outputs.shape(0), n = outputs.shape(1);
        const float* from = shaped<const float>(outputs, {n_rows, n}, "outputs must be float32 and contiguous");
        auto out = std::make_unique<double[]>(n_rows * n);
        {
          nb::gil_scoped_release released;
          for (std::size_t row = 0; row < n_rows; ++row) softmax(from + row * n, n, out.get() + row * n);
        }
        return matrix(std::move(out), n_rows, n);
      },
      "outputs"_a.noconvert(),
      nb::sig("def softmax(outputs: numpy.typing.NDArray) -> numpy.typing.NDArray[numpy.float64]"),
      "Return the softmax of each row of outputs: the same bytes on every machine.");
}

}  // namespace gcwsnet
