# The programs with their manual pages and completion, the libraries with their headers, and what find_package(Mega) and
# pkg-config need.
if(MEGA_FUZZ)
  return()
endif()

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Mega)

get_property(layers GLOBAL PROPERTY MEGA_LAYERS)
install(TARGETS mega_program mega_run_program)
install(TARGETS mega_torch_program RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/mega)
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/bash-completion ${PROJECT_BINARY_DIR}/share/zsh
  ${PROJECT_BINARY_DIR}/share/fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR})
# The engine apart from the rest, so that its users need not have what only training needs.
set(engine_layers ${layers})
list(FILTER engine_layers EXCLUDE REGEX "^mega_(readers|ops|nn|models|baselines|distributed|train)$")
list(REMOVE_ITEM layers ${engine_layers})
install(TARGETS ${engine_layers} mega_engine EXPORT MegaEngineTargets)
install(TARGETS ${layers} mega EXPORT MegaTargets)
foreach(export MegaEngineTargets MegaTargets)
  install(EXPORT ${export} NAMESPACE Mega:: DESTINATION ${package})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/mega DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

write_basic_package_version_file(${PROJECT_BINARY_DIR}/MegaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/MegaConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/MegaConfig.cmake
  ${PROJECT_SOURCE_DIR}/cmake/formats.cmake
  ${PROJECT_SOURCE_DIR}/cmake/media.cmake
  ${PROJECT_SOURCE_DIR}/cmake/torch.cmake
  DESTINATION ${package})

# The prefix as a way from the file itself: an installation may be moved.
set(package_config ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH way_to_prefix /${package_config} /)
string(REGEX REPLACE "/$" "" way_to_prefix ${way_to_prefix})
configure_file(${PROJECT_SOURCE_DIR}/cmake/mega_engine.pc.in ${PROJECT_BINARY_DIR}/mega_engine.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mega_engine.pc DESTINATION ${package_config})
