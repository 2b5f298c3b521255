# The programs, the libraries with their headers, and what find_package(Mega) needs.
if(MEGA_FUZZ)
  return()
endif()

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Mega)

set_target_properties(mega_base PROPERTIES EXPORT_NAME base)
set_target_properties(mega_data PROPERTIES EXPORT_NAME data)
set_target_properties(mega_kernels PROPERTIES EXPORT_NAME kernels)
set_target_properties(mega_infer PROPERTIES EXPORT_NAME infer)
install(TARGETS mega_program mega_run_program)
install(TARGETS mega_base mega_data mega_kernels mega_infer mega EXPORT MegaTargets)
install(EXPORT MegaTargets NAMESPACE Mega:: DESTINATION ${package})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/mega DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

write_basic_package_version_file(${PROJECT_BINARY_DIR}/MegaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/MegaConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/MegaConfig.cmake
  ${PROJECT_SOURCE_DIR}/cmake/formats.cmake
  ${PROJECT_SOURCE_DIR}/cmake/torch.cmake
  DESTINATION ${package})
