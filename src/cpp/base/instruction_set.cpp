#include "base/instruction_set.hpp"

#include <cstdlib>
#include <stdexcept>

namespace gcwsnet {

namespace baseline {
extern const InstructionSet kFunctions;
}
#ifdef GCWSNET_X86
namespace avx2 {
extern const InstructionSet kFunctions;
}
namespace avx512 {
extern const InstructionSet kFunctions;
}
#endif

std::vector<const InstructionSet*> available_instruction_sets() {
  std::vector<const InstructionSet*> sets;
#ifdef GCWSNET_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    sets.push_back(&avx512::kFunctions);
  }
  if (__builtin_cpu_supports("avx2")) sets.push_back(&avx2::kFunctions);
#endif
  sets.push_back(&baseline::kFunctions);
  return sets;
}

const InstructionSet& chosen_instruction_set() {
  static const std::vector<const InstructionSet*> sets = available_instruction_sets();
  const char* wanted = std::getenv("GCWSNET_ISA");
  if (wanted == nullptr || *wanted == '\0') return *sets.front();
  std::string names;
  for (const InstructionSet* set : sets) {
    if (std::string(wanted) == set->name) return *set;
    names += (names.empty() ? "" : ", ") + std::string(set->name);
  }
  throw std::invalid_argument("GCWSNET_ISA must name an instruction set of this processor (" + names +
                              "), got GCWSNET_ISA=" + wanted);
}

}  // namespace gcwsnet
