// Python's side of the nets that only predict.
#include <nanobind/stl/vector.h>

#include "net/bindings.hpp"
#include "net/packed_net.hpp"

namespace gcwsnet {

namespace {

Array array_of(const nb::dict& arrays, const std::string& name) {
  if (!arrays.contains(name.c_str())) refuse("a net must have the array " + name);
  Array array;
  if (!nb::try_cast(arrays[name.c_str()], array)) refuse(name + " must be an array of NumPy");
  return array;
}

// The numbers of an array of a net, which must have that shape.
template <class Number>
const Number* numbers_of(const nb::dict& arrays, const std::string& name, const std::vector<std::size_t>& shape) {
  std::string rule =
      name + " must be contiguous, of " + std::to_string(8 * sizeof(Number)) + " bits, and of the shape (";
  for (const std::size_t side : shape) rule += text(side) + ",";
  return shaped<const Number>(array_of(arrays, name), shape, (rule + ")").c_str());
}

void set_member(PackedNet& net, std::size_t member, const nb::dict& arrays) {
  const std::vector<Parameter>& parameters = net.parameters();
  const Parameter& table = parameters[0];
  PackedArrays found{
      numbers_of<std::uint8_t>(arrays, "layers.0.rows", {(table.n_rows + 7) / 8}), nullptr, nullptr, nullptr, {}};
  if (table.n_rows % 8 != 0 && found.rows[table.n_rows / 8] >> table.n_rows % 8 != 0) {
    refuse("layers.0.rows must have no bits beyond the " + text(table.n_rows) + " rows of the table");
  }
  const std::size_t n = net.n_held(found.rows), width = table.n_columns;
  if (array_of(arrays, table.name).dtype() == nb::dtype<float>()) {
    found.floats = numbers_of<float>(arrays, table.name, {n, width});
  } else {
    const int shift = scale_shift_of(width);
    found.nibbles = numbers_of<std::uint8_t>(arrays, table.name, {(n * width + 1) / 2});
    found.scales = numbers_of<std::uint16_t>(arrays, "layers.0.scales", {(n + (std::size_t{1} << shift) - 1) >> shift});
  }
  for (std::size_t number = 1; number < parameters.size(); ++number) {
    const Parameter& one = parameters[number];
    const std::vector<std::size_t> shape =
        one.is_vector ? std::vector{one.n_columns} : std::vector{one.n_rows, one.n_columns};
    found.others.push_back(numbers_of<float>(arrays, one.name, shape));
  }
  net.set(member, found);
}

}  // namespace

void bind_packed_net(nb::module_& m) {
  nb::class_<PackedNet>(m, "PackedNet",
                        "Nets that only predict, of whose tables only some rows are held, in four bits a weight or as "
                        "float32. The other rows are zero.")
      .def(
          "__init__",
          [](PackedNet* self, const std::vector<nb::dict>& members, std::size_t n_hashes, int bits,
             const std::vector<std::size_t>& hidden, std::size_t n_outputs, std::uint64_t reduction,
             const std::vector<std::uint64_t>& seeds) {
            const NetSettings settings{n_hashes, bits, hidden, n_outputs, reduction, 0, 0.0};
            check_settings(settings);
            require(!members.empty() && members.size() == seeds.size(),
                    "there must be a seed for each net, and at least one net");
            auto made = std::make_unique<PackedNet>(settings, seeds);
            for (std::size_t member = 0; member < members.size(); ++member) set_member(*made, member, members[member]);
            new (self) PackedNet(std::move(*made));
          },
          "members"_a, nb::kw_only(), "n_hashes"_a, "bits"_a, "hidden"_a, "n_outputs"_a, "reduction"_a, "seeds"_a,
          nb::sig("def __init__(self, members: collections.abc.Sequence[dict[str, numpy.typing.NDArray]], *, n_hashes: "
                  "int, bits: int, hidden: collections.abc.Sequence[int], n_outputs: int, reduction: int, seeds: "
                  "collections.abc.Sequence[int]) -> None"),
          "Take the arrays of each net: `layers.0.rows`, a bit for each row of the table, lowest bits first; "
          "`layers.0.weight`, of those rows either float32 or numbers of four bits, the lower half of a byte first, "
          "with `layers.0.scales`; and the others in float32 by their names.")
      .def(
          "outputs",
          [](const PackedNet& self, const Matrix& codes, int n_threads) {
            const CodeRows rows = code_rows(self.n_members() * self.settings().n_hashes, codes);
            CodeRows own = rows;
            own.n_hashes = self.settings().n_hashes;
            auto out = std::make_unique<float[]>(rows.n * self.n_outputs());
            without_gil([&](StopToken& stop_token) {
              for (std::size_t row = 0; row < rows.n; ++row) check_codes(rows, self.settings().bits, row);
              self.outputs(own, out.get(), n_threads, stop_token);
            });
            return matrix(std::move(out), rows.n, self.n_outputs());
          },
          "codes"_a.noconvert(), "n_threads"_a = 1,
          nb::sig("def outputs(self, codes: numpy.typing.NDArray, n_threads: int = 1) -> "
                  "numpy.typing.NDArray[numpy.float32]"),
          "Return the mean outputs of the nets for each row of codes, which has those of all nets one after the "
          "other.");
}

}  // namespace gcwsnet
