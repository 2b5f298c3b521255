// Which of its kernels OpenBLAS takes. Version 0.3.21 does not know processors of Intel after Sapphire Rapids
// and takes the kernels of one without AVX there, at a fifth of their speed.
#pragma once

namespace mega {

// Asks OpenBLAS, in the environment of a program that is executed next, for kernels of AVX-512 where the
// processor is Intel's and has it. What the user set stays. OpenBLAS chooses before main(): in a running
// program it is too late.
void choose_blas_kernels();

}  // namespace mega
