// Which of its kernels OpenBLAS takes. Version 0.3.21 does not know processors of Intel after Sapphire
// Rapids, where it takes the kernels of one without AVX, at a fifth of their speed, nor those of AMD after
// Zen 4, where it takes those of AVX2, at half of it.
#pragma once

namespace mega {

// Asks OpenBLAS, in the environment of a program that is executed next, for kernels of AVX-512 where the
// processor has it. What the user set stays. OpenBLAS chooses before main(): in a running
// program it is too late.
void choose_blas_kernels();

}  // namespace mega
