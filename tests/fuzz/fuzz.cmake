# Fuzz targets of all parsers (README.md). One row per target, at the end:
#
#   cg2d_add_fuzz_target(NAME EXECUTIONS count LONGEST bytes PARSERS library [MUTATOR source])
#
# NAME.cpp defines take_NAME() (targets.hpp), corpus/NAME/ has its seeds and found cases. With any compiler the program fuzz_replay gives
# these to all targets: the tests fuzz_replay_NAME. With clang and the address sanitizer each target is a program fuzz_NAME of libFuzzer, too, and a
# tests of `count` executions and of few. Those of files link a library of parsers that neither has nor links MPI.

set(cg2d_fuzz_corpus ${CMAKE_CURRENT_LIST_DIR}/corpus)
set(cg2d_fuzz_generated ${PROJECT_BINARY_DIR}/generated/fuzz)
set(cg2d_with_libfuzzer FALSE)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CG2D_SANITIZE MATCHES address AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(cg2d_with_libfuzzer TRUE)
endif()

# ---------------------------------------------------------------- parsers without MPI

# Headers only: MPI's types stand in interfaces beside parsers.
add_library(cg2d_parser_usage INTERFACE)
target_include_directories(cg2d_parser_usage INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests
                                                       ${PROJECT_BINARY_DIR}/generated ${cg2d_fuzz_generated})
target_include_directories(cg2d_parser_usage SYSTEM INTERFACE ${MPI_CXX_INCLUDE_DIRS})
target_compile_definitions(cg2d_parser_usage INTERFACE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
target_compile_features(cg2d_parser_usage INTERFACE cxx_std_20)
target_link_libraries(cg2d_parser_usage INTERFACE fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 OpenMP::OpenMP_CXX
                                                  PkgConfig::zlib PkgConfig::zstd)
if(cg2d_with_libfuzzer)
  target_compile_options(cg2d_parser_usage INTERFACE -fsanitize=fuzzer-no-link -O2)
endif()

# cg2d_add_parsers(NAME source...): these sources once more, with libFuzzer's counters. Sources of different rooms are not compiled in one unit.
function(cg2d_add_parsers name)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${sources})
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME room)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  target_link_libraries(
    ${name}
    PUBLIC cg2d_parser_usage
    PRIVATE cg2d_compile_options)
endfunction()

# Files of matrices and vectors: cut clean, nothing is absent.
set(file_parsers
    cg/base/describe_json.cpp
    cg/base/errors.cpp
    cg/base/values.cpp
    cg/matrix/files/cache_file.cpp
    cg/base/storage/crc32c.cpp
    cg/base/storage/open_file.cpp
    cg/matrix/files/market_file.cpp
    comm/block_layout.cpp)

# Files of checkpoints, and the states in them. Vectors are read on all ranks: what that calls is absent.
set(checkpoint_parsers
    cg/base/output_file.cpp
    cg/run/checkpoint/checkpoint_folder.cpp
    cg/matrix/matrix_facts.cpp
    cg/run/run_report.cpp
    cg/base/storage/unnamed_file.cpp)

if(cg2d_with_libfuzzer)
  cg2d_add_parsers(cg2d_file_parsers ${file_parsers})
  cg2d_add_parsers(cg2d_checkpoint_parsers ${checkpoint_parsers})
  target_link_libraries(cg2d_checkpoint_parsers PUBLIC cg2d_file_parsers)
  # What these call of cg2d and do not have, as functions that end the process.
  set(absent_source ${cg2d_fuzz_generated}/cg2d_checkpoint_parsers_absent.cpp)
  add_custom_command(
    OUTPUT ${absent_source}
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} "-DFILES=$<TARGET_FILE:cg2d_checkpoint_parsers>;$<TARGET_FILE:cg2d_file_parsers>"
            -DTARGET=${absent_source} -P ${PROJECT_SOURCE_DIR}/tests/fuzz/absent.cmake
    DEPENDS cg2d_checkpoint_parsers cg2d_file_parsers ${PROJECT_SOURCE_DIR}/tests/fuzz/absent.cmake
    COMMENT "What the parsers of checkpoints leave out"
    VERBATIM)
  add_library(cg2d_checkpoint_parsers_absent OBJECT EXCLUDE_FROM_ALL ${absent_source})
  # JSON and options: the rooms that read them are compiled once, with the counters.
  foreach(room IN ITEMS base machine tuning run report studies explain commands)
    target_compile_options(cg2d_room_${room} PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
endif()

# ---------------------------------------------------------------- targets

add_custom_target(small_fuzz_tests COMMENT "What the fuzz tests of scripts/test need")
set(cg2d_fuzz_rows "")
set(cg2d_fuzz_sources "")

macro(cg2d_add_fuzz_target name)
  cmake_parse_arguments(target "" "EXECUTIONS;LONGEST;PARSERS;MUTATOR" "" ${ARGN})
  string(APPEND cg2d_fuzz_rows "CG2D_FUZZ_TARGET(${name})\n")
  list(APPEND cg2d_fuzz_sources fuzz/${name}.cpp)
  if(cg2d_with_libfuzzer)
    cg2d_add_fuzz_program(${name} ${target_EXECUTIONS} ${target_LONGEST} ${target_PARSERS} "${target_MUTATOR}")
  endif()
endmacro()

# The program of libFuzzer and its tests: always the same executions, from the kept inputs; what they find stays in the build folder. scripts/test
# takes the brief one, which is little more than these inputs, --thorough both.
function(cg2d_add_fuzz_program name executions longest parsers mutator)
  add_executable(fuzz_${name} fuzz/fuzz_main.cpp fuzz/${name}.cpp)
  if(mutator)
    # Several targets have the same one: it is compiled once.
    cmake_path(GET mutator STEM mutator_name)
    if(NOT TARGET cg2d_${mutator_name})
      add_library(cg2d_${mutator_name} OBJECT EXCLUDE_FROM_ALL ${mutator})
      target_link_libraries(cg2d_${mutator_name} PRIVATE cg2d_parser_usage cg2d_compile_options)
    endif()
    target_link_libraries(fuzz_${name} PRIVATE $<TARGET_OBJECTS:cg2d_${mutator_name}>)
    add_dependencies(fuzz_${name} cg2d_${mutator_name})
  endif()
  set_target_properties(fuzz_${name} PROPERTIES UNITY_BUILD OFF)
  target_compile_definitions(fuzz_${name} PRIVATE CG2D_TAKE_INPUT=take_${name})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_${name} PRIVATE ${parsers} cg2d_parser_usage cg2d_compile_options)
  if(TARGET ${parsers}_absent)
    target_link_libraries(fuzz_${name} PRIVATE $<TARGET_OBJECTS:${parsers}_absent>)
    add_dependencies(fuzz_${name} ${parsers}_absent)
  endif()
  cg2d_place_test(fuzz_${name} fuzz)
  # Parsers of files take few sources, and those of JSON and options the whole laboratory: scripts/test leaves them to fuzz_replay, --thorough takes
  # them.
  if(NOT parsers STREQUAL cg2d_lab)
    add_dependencies(small_fuzz_tests fuzz_${name})
    add_test(NAME fuzz_${name}_links_no_mpi COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:fuzz_${name}> -P
                                                    ${PROJECT_SOURCE_DIR}/tests/fuzz/links_no_mpi.cmake)
    cg2d_label_tests(fuzz "" fuzz_${name}_links_no_mpi)
    set_tests_properties(fuzz_${name}_links_no_mpi PROPERTIES TIMEOUT 60)
  endif()
  set(found ${PROJECT_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${found})
  # As files: into a folder of inputs libFuzzer would write what it finds, and the next run would be another one.
  file(GLOB kept CONFIGURE_DEPENDS ${cg2d_fuzz_corpus}/${name}/*)
  list(JOIN kept "," kept)
  math(EXPR few "${executions} / 50")
  # A frame of zstd may announce a window of 2 GiB, which is allocated and not touched: more than -rss_limit_mb allows at once.
  set(extents brief bounded)
  set(counts ${few} ${executions})
  # -entropic=0: its account of rare features takes 40 % of the time where an execution has many.
  foreach(extent count IN ZIP_LISTS extents counts)
    add_test(NAME fuzz_${name}_${extent}
             COMMAND fuzz_${name} -runs=${count} -entropic=0 -max_len=${longest} -seed=20 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=2304 -verbosity=0
                     -print_final_stats=1 -artifact_prefix=${found}/ -seed_inputs=${kept})
    cg2d_label_tests(fuzz "" fuzz_${name}_${extent})
  endforeach()
  # Short stacks of allocations, which otherwise take their time.
  set_tests_properties(
    fuzz_${name}_brief fuzz_${name}_bounded PROPERTIES TIMEOUT 1200 COST 300 ENVIRONMENT
                                    "ASAN_OPTIONS=detect_leaks=0:malloc_context_size=4:quarantine_size_mb=32")
endfunction()

# EXECUTIONS: two million in all; with the sanitizers about a minute of each target.
cg2d_add_fuzz_target(market_text EXECUTIONS 1159000 LONGEST 512 PARSERS cg2d_file_parsers)
cg2d_add_fuzz_target(market_file EXECUTIONS 50000 LONGEST 2048 PARSERS cg2d_file_parsers)
cg2d_add_fuzz_target(cache EXECUTIONS 400000 LONGEST 16384 PARSERS cg2d_file_parsers MUTATOR fuzz/cache_mutator.cpp)
cg2d_add_fuzz_target(checkpoint EXECUTIONS 300000 LONGEST 2048 PARSERS cg2d_checkpoint_parsers MUTATOR fuzz/checkpoint_mutator.cpp)
cg2d_add_fuzz_target(profile EXECUTIONS 8000 LONGEST 8192 PARSERS cg2d_lab MUTATOR fuzz/json_mutator.cpp)
cg2d_add_fuzz_target(machine EXECUTIONS 10000 LONGEST 8192 PARSERS cg2d_lab MUTATOR fuzz/json_mutator.cpp)
cg2d_add_fuzz_target(results EXECUTIONS 3000 LONGEST 8192 PARSERS cg2d_lab MUTATOR fuzz/json_mutator.cpp)
cg2d_add_fuzz_target(config_file EXECUTIONS 20000 LONGEST 512 PARSERS cg2d_lab)
cg2d_add_fuzz_target(task_list EXECUTIONS 50000 LONGEST 512 PARSERS cg2d_lab)
cg2d_add_fuzz_target(command_line EXECUTIONS 500 LONGEST 512 PARSERS cg2d_lab)

# ---------------------------------------------------------------- replay

file(CONFIGURE OUTPUT ${cg2d_fuzz_generated}/fuzz_targets.inc CONTENT "${cg2d_fuzz_rows}" @ONLY)
# With libFuzzer each target replays its corpus at its start.
if(NOT cg2d_with_libfuzzer)
  add_executable(fuzz_replay fuzz/fuzz_replay.cpp ${cg2d_fuzz_sources})
  set_target_properties(fuzz_replay PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(fuzz_replay PRIVATE cg2d_lab cg2d_parser_usage MPI::MPI_CXX cg2d_compile_options)
  cg2d_place_test(fuzz_replay fuzz)
  string(REGEX MATCHALL "[a-z_]+\\)" fuzz_names "${cg2d_fuzz_rows}")
  foreach(name IN LISTS fuzz_names)
    string(REPLACE ")" "" name ${name})
    add_test(NAME fuzz_replay_${name} COMMAND fuzz_replay ${name} ${cg2d_fuzz_corpus}/${name})
    cg2d_label_tests(fuzz "" fuzz_replay_${name})
    set_tests_properties(fuzz_replay_${name} PROPERTIES TIMEOUT 60 ENVIRONMENT "${test_environment}")
  endforeach()
endif()
