include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Meshwise)
install(TARGETS meshwise EXPORT MeshwiseTargets)
if(MESHWISE_COMMAND)
  file(RELATIVE_PATH to_library /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(meshwise_command PROPERTIES INSTALL_RPATH "$ORIGIN/${to_library}")  # where the library is a shared one
  install(TARGETS meshwise_command)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/meshwise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT MeshwiseTargets NAMESPACE meshwise:: DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/MeshwiseConfig.cmake.in
  ${PROJECT_BINARY_DIR}/MeshwiseConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/MeshwiseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/MeshwiseConfig.cmake ${PROJECT_BINARY_DIR}/MeshwiseConfigVersion.cmake
  DESTINATION ${config_dir})
