# Mega::torch, libtorch by its headers and libraries: Debian's TorchConfig.cmake asks for packages that a CPU
# user does not need, and its location differs between versions.
# Also installed beside MegaConfig.cmake, so that a consumer finds the libtorch of its own machine.
if(TARGET Mega::torch)
  return()
endif()

find_path(MEGA_TORCH_INCLUDE torch/torch.h PATH_SUFFIXES torch/csrc/api/include REQUIRED)
find_path(MEGA_ATEN_INCLUDE ATen/ATen.h REQUIRED)
find_library(MEGA_TORCH_CPU torch_cpu REQUIRED)
find_library(MEGA_TORCH torch REQUIRED)
find_library(MEGA_C10 c10 REQUIRED)
find_library(MEGA_DNNL dnnl REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

add_library(Mega::torch INTERFACE IMPORTED GLOBAL)
target_include_directories(Mega::torch SYSTEM INTERFACE ${MEGA_TORCH_INCLUDE} ${MEGA_ATEN_INCLUDE})
target_link_libraries(Mega::torch INTERFACE
  ${MEGA_TORCH} ${MEGA_TORCH_CPU} ${MEGA_C10} ${MEGA_DNNL} OpenMP::OpenMP_CXX Threads::Threads)
