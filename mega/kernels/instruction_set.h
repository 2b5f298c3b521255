// Which of the compiled instruction sets the kernels use on this machine.
#pragma once

#include <vector>

namespace mega::kernels {

// From the weakest to the strongest. The baseline is what the compiler assumes of every machine.
enum class InstructionSet { baseline, sse4, avx2, avx3 };

// Those that were compiled and that this CPU and its operating system have, weakest first.
std::vector<InstructionSet> usable_instruction_sets();

// The strongest usable one.
InstructionSet chosen_instruction_set();
const char* instruction_set();  // its name: "AVX2", "AVX3" (AVX-512), ...

// From now on every thread uses the strongest usable instruction set up to this one. For tests, which are to
// see all of them; the only setting that a whole process shares.
void limit_instruction_set(InstructionSet strongest);

}  // namespace mega::kernels
