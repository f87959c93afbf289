// The choice among the instruction sets that the core is compiled for.
//
// Each module has a table of the functions that exist once per instruction set, in its functions.hpp. An instruction
// set is one of each. A module sees the tables of others only by name.
#pragma once

#include <string>
#include <vector>

namespace gcwsnet {

struct HashingFunctions;
struct KernelFunctions;
struct NetFunctions;
struct SearchFunctions;

struct InstructionSet {
  const char* name;
  const HashingFunctions& hashing;
  const KernelFunctions& kernels;
  const NetFunctions& net;
  const SearchFunctions& search;
};

// Those this processor can run, best first. "baseline" is always there.
std::vector<const InstructionSet*> available_instruction_sets();

// Called once, when the module is loaded: chooses the best one, or the one that the environment variable GCWSNET_ISA
// names. Later another thread may be changing the environment.
void choose_instruction_set_by_environment();

// Chooses another one, for tests and benchmarks. Throws std::invalid_argument if this processor has none of that name.
void use_instruction_set(const std::string& name);

// The one in use. Throws std::invalid_argument if the environment named none that this processor has.
const InstructionSet& chosen_instruction_set();

}  // namespace gcwsnet
