// The second program, `mega-torch`, which runs what needs libtorch: loading that takes half a second, too
// long for help, a typo or anything that the engine does.
#pragma once

namespace mega::cli {

// Replaces this process by `mega-torch` with the same arguments, those that main() got. It is beside this
// program or, once installed, in ../libexec/mega. Returns only by an Error: there is no such program, or it
// cannot be run.
[[noreturn]] void run_torch_program(char** arguments);

// Makes idle OpenMP threads sleep rather than spin: spinning ones take the cores from the threads that work
// as soon as anything else runs on the machine. Leaves alone what the user has set. In effect in programs
// started afterwards, because OpenMP reads it as it is loaded.
void set_wait_policy();

}  // namespace mega::cli
