// Which compiled instruction set the kernels use on this machine.
#pragma once

#include <vector>

namespace mega::kernels {

// Weakest first. The baseline is what the compiler assumes of every machine. `amx` is avx3 with products of
// tiles (AMX, of bf16 and of bytes): the same compiled kernels, some of which ask for it.
enum class InstructionSet { baseline, sse4, avx2, avx3, amx };

// The compiled instruction sets that this CPU and operating system support, weakest first.
std::vector<InstructionSet> usable_instruction_sets();

// The strongest usable instruction set.
InstructionSet chosen_instruction_set();
const char* instruction_set();  // its name: "AVX2", "AVX3" (AVX-512), "AMX", ...

// Whether the CPU multiplies bf16 (AVX512-BF16), or adds four products of bytes at once (AVX512-VNNI), and
// the instruction set is not limited to less than that.
bool native_bf16();
bool native_bytes();

// Whether products of tiles may be used.
bool has_tiles();

// Whether the CPU has AVX512-BF16 and AVX512-VNNI, for inner loops of the AVX-512 kernels. False before
// static variables are initialised.
extern const bool cpu_has_bf16, cpu_has_vnni;

// Limits all threads to the strongest usable instruction set up to this one. For tests, which cover all of
// them; the only process-wide setting.
void limit_instruction_set(InstructionSet strongest);

}  // namespace mega::kernels
