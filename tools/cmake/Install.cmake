# What `cmake --install` puts where: the program, the libraries with their headers, libetwpipe.so with etwpipe.h, the messages, and the files by which
# CMake (find_package(etwpipe)) and pkg-config find them. Headers keep their folders below include/etwpipe.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY ETWPIPE_LIBRARIES)
list(REMOVE_ITEM libraries etwpipe_tools)  # the command line, of no use to other programs
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/etwpipe)

install(TARGETS ${libraries} EXPORT etwpipe ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/etwpipe)
install(DIRECTORY pipeline formats stages DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/etwpipe
        FILES_MATCHING PATTERN "*.h")
install(FILES tools/library/session.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/etwpipe/tools/library)
install(FILES tools/library/etwpipe.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/etwpipe)
install(TARGETS etwpipe_shared EXPORT etwpipe LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/etwpipe)
install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/etwpipe
        FILES_MATCHING PATTERN "*.pb.h" PATTERN tests EXCLUDE)
install(DIRECTORY stages DESTINATION ${CMAKE_INSTALL_DATADIR}/etwpipe FILES_MATCHING PATTERN "*.proto")
foreach(document README.md CHANGELOG.md LICENSE)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${document})
    install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()

install(EXPORT etwpipe NAMESPACE etwpipe:: FILE etwpipeTargets.cmake DESTINATION ${package_folder})
configure_package_config_file(tools/cmake/etwpipeConfig.cmake.in ${PROJECT_BINARY_DIR}/etwpipeConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/etwpipeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/etwpipeConfig.cmake ${PROJECT_BINARY_DIR}/etwpipeConfigVersion.cmake
        DESTINATION ${package_folder})

# A linker takes static libraries in order of use, the reverse of the order in which they were declared.
set(link_order ${libraries})
list(REVERSE link_order)
# Its shared namesake has the C interface only, and a pkg-config file of its own.
list(TRANSFORM link_order REPLACE "^etwpipe_session$" ":libetwpipe.a")
list(TRANSFORM link_order PREPEND "-l")
list(JOIN link_order " " ETWPIPE_LINK)
file(RELATIVE_PATH ETWPIPE_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(tools/cmake/etwpipe.pc.in ${PROJECT_BINARY_DIR}/etwpipe.pc @ONLY)
configure_file(tools/cmake/etwpipe-c.pc.in ${PROJECT_BINARY_DIR}/etwpipe-c.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/etwpipe.pc ${PROJECT_BINARY_DIR}/etwpipe-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
