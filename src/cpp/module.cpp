// The Python module gcwsnet._core. Only this file and the bindings of the modules know Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/bindings.hpp"
#include "dispatch.hpp"
#include "hashing/rows.hpp"

namespace gcwsnet {

// In the bindings.cpp of each module.
void bind_hashing(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_hashed_linear(nb::module_& m);
void bind_net(nb::module_& m);
void bind_packed_net(nb::module_& m);
void bind_reading(nb::module_& m);
void bind_search(nb::module_& m);

}  // namespace gcwsnet

using namespace gcwsnet;

NB_MODULE(_core, m) {
  m.doc() =
      "The native core: hashing, nets on codes, readers, search and sums of minima. Private; use the functions of "
      "gcwsnet.";

  nb::register_exception_translator([](const std::exception_ptr& failure, void*) {
    try {
      std::rethrow_exception(failure);
    } catch (const NotFinite& error) {
      PyErr_SetString(PyExc_FloatingPointError, error.what());
    }
  });

  choose_instruction_set_by_environment();
  m.def(
      "instruction_sets",
      [] {
        std::vector<std::string> names;
        for (const InstructionSet* set : available_instruction_sets()) names.emplace_back(set->name);
        return names;
      },
      "Return the names of the instruction sets this processor can run, best first.");
  m.def(
      "instruction_set", [] { return std::string(chosen_instruction_set().name); },
      "Return the name of the instruction set in use: the best one, or that of the environment variable GCWSNET_ISA "
      "when "
      "this module was loaded.");
  m.def("use_instruction_set", &use_instruction_set, "name"_a,
        "Use the instruction set of this name from now on, for tests and benchmarks.");

  bind_hashing(m);
  bind_kernels(m);
  bind_hashed_linear(m);
  bind_net(m);
  bind_packed_net(m);
  bind_reading(m);
  bind_search(m);
}
