# find_package(Mega) gives Mega::mega, everything. find_package(Mega COMPONENTS engine) gives Mega::infer and the layers
# below it, and Mega::engine for C: no libtorch, and no libraries for pictures and sound.
include(CMakeFindDependencyMacro)
find_dependency(nlohmann_json)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/formats.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/MegaEngineTargets.cmake)
if(NOT "${Mega_FIND_COMPONENTS}" STREQUAL "engine")
  include(${CMAKE_CURRENT_LIST_DIR}/media.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/MegaTargets.cmake)
endif()
