# cmake --install: library, headers, find_package(wick), pkg-config, licence.
include(CMakePackageConfigHelpers)
set(WICK_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/wick)

# A static wick leaves its libraries to whoever links it; a shared one has them inside or names them itself.
set(WICK_LINKED_LIBRARIES "")
foreach(pair IN ITEMS "7Z archive" "XZ lzma" "BZIP2 bz2")
  separate_arguments(pair)
  list(GET pair 0 option)
  list(GET pair 1 library)
  if(WICK_WITH_${option})
    list(APPEND WICK_LINKED_LIBRARIES ${library})
  endif()
endforeach()
list(APPEND WICK_LINKED_LIBRARIES deflate z zstd crypto)
get_target_property(WICK_LIBRARY_TYPE wick TYPE)
set(WICK_IS_STATIC OFF)
set(WICK_PC_LIBRARIES "")
if(WICK_LIBRARY_TYPE STREQUAL "STATIC_LIBRARY")
  set(WICK_IS_STATIC ON)
  list(TRANSFORM WICK_LINKED_LIBRARIES PREPEND "-l" OUTPUT_VARIABLE WICK_PC_LIBRARIES)
  list(APPEND WICK_PC_LIBRARIES -pthread)
  list(JOIN WICK_PC_LIBRARIES " " WICK_PC_LIBRARIES)
  set(WICK_PC_CFLAGS "")
else()
  set(WICK_PC_CFLAGS " -DWICK_SHARED")
endif()

install(TARGETS wick EXPORT wick_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT wick_targets NAMESPACE wick:: DESTINATION ${WICK_PACKAGE_DIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/wickConfig.cmake.in ${PROJECT_BINARY_DIR}/wickConfig.cmake
  INSTALL_DESTINATION ${WICK_PACKAGE_DIR})
# Until 1.0 the C++ interface may change with every minor version.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wickConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wickConfig.cmake ${PROJECT_BINARY_DIR}/wickConfigVersion.cmake
  DESTINATION ${WICK_PACKAGE_DIR})

# The prefix is found from where wick.pc lies, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE WICK_PC_LIBDIR)
file(RELATIVE_PATH WICK_PC_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/wick.pc.in ${PROJECT_BINARY_DIR}/wick.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wick.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
