# How every folder declares what it builds.

# Flags for our own code; third-party headers are included as system headers.
add_library(etwpipe_options INTERFACE)
target_compile_options(etwpipe_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror)
target_include_directories(etwpipe_options INTERFACE ${PROJECT_SOURCE_DIR})
target_include_directories(etwpipe_options SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/generated)
if(ETWPIPE_SANITIZE)
  target_compile_options(etwpipe_options INTERFACE -fsanitize=${ETWPIPE_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(etwpipe_options INTERFACE -fsanitize=${ETWPIPE_SANITIZE})
  # gcc 12 sees values in its own headers as uninitialised once they are instrumented.
  target_compile_options(etwpipe_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# etwpipe_library(NAME SOURCES a.cc ... DEPS target ...): a static library of one folder. ETWPIPE_LIBRARIES collects them
# for Install.cmake.
function(etwpipe_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE $<BUILD_INTERFACE:etwpipe_options>)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_include_directories(${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY ETWPIPE_LIBRARIES ${name})
endfunction()

# etwpipe_proto(NAME a.proto ...): generated messages, included as "<folder>/a.pb.h". Paths are relative to the
# project's root, so that imports read like includes.
function(etwpipe_proto name)
  set(sources)
  foreach(proto IN LISTS ARGN)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
    cmake_path(GET proto STEM stem)
    cmake_path(GET proto PARENT_PATH sub)
    if(sub)
      set(folder ${folder}/${sub})
    endif()
    set(base ${PROJECT_BINARY_DIR}/generated/${folder}/${stem}.pb)
    add_custom_command(
      OUTPUT ${base}.cc ${base}.h
      COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${PROJECT_BINARY_DIR}/generated
              ${folder}/${stem}.proto
      DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/${stem}.proto
      COMMENT "Generating ${folder}/${stem}.pb.cc")
    list(APPEND sources ${base}.cc)
  endforeach()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY ETWPIPE_LIBRARIES ${name})
endfunction()

# etwpipe_test(NAME SOURCES a_test.cc ... LIBS target ...): a GoogleTest program, one ctest per test case.
function(etwpipe_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ETWPIPE_TESTS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gmock GTest::gtest_main etwpipe_options)
  target_compile_definitions(${name} PRIVATE ETWPIPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             ETWPIPE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  gtest_discover_tests(${name} PROPERTIES LABELS "${ARG_LABELS}" DISCOVERY_TIMEOUT 60)
endfunction()

# etwpipe_fuzzer(NAME SOURCE a_fuzz.cc LIBS target ...): with clang and ETWPIPE_FUZZ a libFuzzer program; otherwise a
# program that replays tests/corpus/fuzz/NAME under ctest.
function(etwpipe_fuzzer name)
  cmake_parse_arguments(ARG "" "SOURCE" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCE})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} etwpipe_options)
  if(ETWPIPE_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    add_test(NAME fuzz_corpus.${name} COMMAND ${name} ${PROJECT_SOURCE_DIR}/tests/corpus/fuzz/${name})
    set_tests_properties(fuzz_corpus.${name} PROPERTIES LABELS fuzz)
  endif()
endfunction()
