#include "dispatch.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

namespace gcwsnet {

// What the functions.simd.cpp of each module defines for an instruction set.
#define GCWSNET_INSTRUCTION_SET(isa)                                                                       \
  namespace isa {                                                                                          \
  extern const HashingFunctions kHashingFunctions;                                                         \
  extern const KernelFunctions kKernelFunctions;                                                           \
  extern const NetFunctions kNetFunctions;                                                                 \
  extern const SearchFunctions kSearchFunctions;                                                           \
  static const InstructionSet kInstructionSet = {#isa, kHashingFunctions, kKernelFunctions, kNetFunctions, \
                                                 kSearchFunctions};                                        \
  }
GCWSNET_INSTRUCTION_SET(baseline)
#ifdef GCWSNET_X86
GCWSNET_INSTRUCTION_SET(avx2)
GCWSNET_INSTRUCTION_SET(avx512)
#endif
#undef GCWSNET_INSTRUCTION_SET

std::vector<const InstructionSet*> available_instruction_sets() {
  std::vector<const InstructionSet*> sets;
#ifdef GCWSNET_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    sets.push_back(&avx512::kInstructionSet);
  }
  if (__builtin_cpu_supports("avx2")) sets.push_back(&avx2::kInstructionSet);
#endif
  sets.push_back(&baseline::kInstructionSet);
  return sets;
}

namespace {

std::atomic<const InstructionSet*> in_use{nullptr};
std::string name_in_environment;  // of the variable, where it names no instruction set of this processor

// nullptr if this processor has none of that name.
const InstructionSet* find(const std::string& name) {
  for (const InstructionSet* set : available_instruction_sets()) {
    if (name == set->name) return set;
  }
  return nullptr;
}

std::string available() {
  std::string names;
  for (const InstructionSet* set : available_instruction_sets())
    names += (names.empty() ? "" : ", ") + std::string(set->name);
  return "an instruction set of this processor (" + names + ")";
}

}  // namespace

void choose_instruction_set_by_environment() {
  const char* name = std::getenv("GCWSNET_ISA");
  if (name == nullptr || *name == '\0') {
    in_use = available_instruction_sets().front();
    return;
  }
  in_use = find(name);
  name_in_environment = name;
}

void use_instruction_set(const std::string& name) {
  const InstructionSet* set = find(name);
  if (set == nullptr) throw std::invalid_argument("name must be that of " + available() + ", got name=" + name);
  in_use = set;
}

const InstructionSet& chosen_instruction_set() {
  const InstructionSet* set = in_use.load(std::memory_order_relaxed);
  if (set == nullptr) {
    throw std::invalid_argument("GCWSNET_ISA must name " + available() + ", got GCWSNET_ISA=" + name_in_environment);
  }
  return *set;
}

}  // namespace gcwsnet
