// Which of the compiled instruction sets the kernels use on this machine.
#pragma once

namespace mega::kernels {

const char* instruction_set();  // "AVX2", "AVX3" (AVX-512), ...

}  // namespace mega::kernels
