# Warnings are errors for our own code; third-party headers are system headers.
add_library(mega_warnings INTERFACE)
target_compile_options(mega_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wunused -Wnull-dereference -Wdouble-promotion -Werror)
# GCC reports false positives of these inside inlined library code.
target_compile_options(mega_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-null-dereference -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict>)
# Clang counts NAN and INFINITY, which are constants of type float.
target_compile_options(mega_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-double-promotion>)

if(MEGA_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
endif()
