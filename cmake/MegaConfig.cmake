# find_package(Mega) gives Mega::mega, and below it Mega::infer, Mega::data, Mega::kernels and Mega::base, which
# need no libtorch.
include(CMakeFindDependencyMacro)
find_dependency(nlohmann_json)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/formats.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/MegaTargets.cmake)
