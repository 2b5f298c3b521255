// The second program, `mega-torch`, which runs what needs libtorch: loading that takes half a second, too
// long for help, a typo or anything that the engine does.
#pragma once

namespace mega::cli {

// Replaces this process by `mega-torch` with the same arguments, those that main() got, with idle OpenMP
// threads that sleep (mega/base/system/wait_policy.h) and the right kernels of OpenBLAS
// (mega/base/system/blas_kernels.h). It is beside this program or, once installed, in ../libexec/mega.
// Returns only by an Error: there is no such program, or it cannot be run.
[[noreturn]] void run_torch_program(char** arguments);

}  // namespace mega::cli
