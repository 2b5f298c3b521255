// A stack of their own for signal handlers.
#pragma once

namespace mega {

// Gives the calling thread a stack for handlers with SA_ONSTACK, unless it has one. Call it in the main
// thread, which is the one that signals of a process are delivered to. oneDNN 2.7 keeps parts of a matrix
// product below the stack pointer, where the system would put a handler's frame: memory was corrupted when a
// signal came during training.
void use_signal_stack();

}  // namespace mega
