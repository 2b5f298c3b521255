# Libraries for compressed files; those for pictures and sound are in media.cmake.
# Also installed beside MegaConfig.cmake, so that a consumer finds those of its own machine.
if(TARGET Mega::zlib)
  return()
endif()

find_package(PkgConfig REQUIRED)

# Mega::NAME: the package's shared library, or its archive for a program with the property MEGA_LINK_ARCHIVES, which
# then runs where the package is not installed.
function(mega_format name package)
  pkg_check_modules(mega_${name} REQUIRED IMPORTED_TARGET GLOBAL ${package})
  list(GET mega_${name}_LIBRARIES 0 library)
  find_library(MEGA_${name}_ARCHIVE lib${library}.a HINTS ${mega_${name}_LIBRARY_DIRS} ${mega_${name}_LIBDIR})
  set(link PkgConfig::mega_${name})
  if(MEGA_${name}_ARCHIVE)
    set(link $<IF:$<BOOL:$<TARGET_PROPERTY:MEGA_LINK_ARCHIVES>>,${MEGA_${name}_ARCHIVE},${link}>)
  else()
    message(STATUS "No lib${library}.a: mega-run will need the shared library of ${package}")
  endif()
  add_library(Mega::${name} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(Mega::${name} INTERFACE ${link} ${ARGN})
endfunction()

mega_format(zlib zlib)
mega_format(lzma liblzma)
mega_format(zstd libzstd)
