# The programs, the libraries with their headers, and what find_package(Mega) and pkg-config need.
if(MEGA_FUZZ)
  return()
endif()

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Mega)

set_target_properties(mega_base PROPERTIES EXPORT_NAME base)
set_target_properties(mega_data PROPERTIES EXPORT_NAME data)
set_target_properties(mega_kernels PROPERTIES EXPORT_NAME kernels)
set_target_properties(mega_infer PROPERTIES EXPORT_NAME infer)
set_target_properties(mega_engine PROPERTIES EXPORT_NAME engine)
install(TARGETS mega_program mega_run_program)
install(TARGETS mega_base mega_data mega_kernels mega_infer mega_engine mega EXPORT MegaTargets)
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

# The prefix as a way from the file itself: an installation may be moved.
set(package_config ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH way_to_prefix /${package_config} /)
string(REGEX REPLACE "/$" "" way_to_prefix ${way_to_prefix})
configure_file(${PROJECT_SOURCE_DIR}/cmake/mega_engine.pc.in ${PROJECT_BINARY_DIR}/mega_engine.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mega_engine.pc DESTINATION ${package_config})
