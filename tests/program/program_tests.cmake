# Tests of the program as a user meets it, in Python, and of the installed library. Included by CMakeLists.txt beside this
# file. Labels as there.

# The program as a function: one start of MPI for hundreds of command lines.
add_executable(cg2d_command_loop support/command_loop.cpp)
set_target_properties(cg2d_command_loop PROPERTIES OUTPUT_NAME command_loop)
target_link_libraries(cg2d_command_loop PRIVATE cg2d_lab cg2d_test_usage nlohmann_json::nlohmann_json cg2d_compile_options)
add_dependencies(quick_tests cg2d_command_loop)

# cg2d_add_program_test(NAME [ALONE | WAITS] [MAIN] SCRIPT room/file.py [ARGUMENTS word...] [LABELS label...] TIMEOUT seconds): runs the
# cases of a file of tests/, or a script that has a MAIN function, on a processor of its own; one that measures, or looks at all
# processes, has the machine ALONE, and one that WAITS most of its time runs beside others. Those that may take longest
# are started first (COST), so that none of them is the last one, beside an idle core.
function(cg2d_add_program_test name)
  cmake_parse_arguments(test "ALONE;WAITS;MAIN" "SCRIPT;TIMEOUT" "ARGUMENTS;LABELS" ${ARGN})
  set(processors ${cg2d_core})
  set(starter ${cg2d_on_a_core})
  if(test_ALONE)
    set(processors ${cg2d_machine})
    set(starter "")
  elseif(test_WAITS)
    set(processors ${cg2d_half_core})
    set(starter ${cg2d_on_half_a_core})
  endif()
  cmake_path(GET test_SCRIPT PARENT_PATH room)
  cmake_path(GET test_SCRIPT STEM what)
  list(PREPEND what -m unittest -v)
  if(test_MAIN)
    set(what ${CMAKE_CURRENT_SOURCE_DIR}/${test_SCRIPT} ${test_ARGUMENTS})
  endif()
  add_test(NAME ${name} COMMAND ${starter} ${program_test_python} ${what})
  cg2d_label_tests(${room} "${test_LABELS}" ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${test_TIMEOUT} COST ${test_TIMEOUT} PROCESSORS ${processors})
  set(environment
      CG2D_PROGRAM=$<TARGET_FILE:cg2d_program>
      CG2D_COMMAND_LOOP=$<TARGET_FILE:cg2d_command_loop>
      CG2D_MPIEXEC=${MPIEXEC_EXECUTABLE}
      PYTHONDONTWRITEBYTECODE=1
      PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}/support:${CMAKE_CURRENT_SOURCE_DIR}/${room})
  set_property(TEST ${name} PROPERTY ENVIRONMENT "${environment}")
endfunction()

cg2d_add_program_test(command_line_test SCRIPT program/command_line_test.py TIMEOUT 600)
cg2d_add_program_test(refused_test SCRIPT program/refused_test.py TIMEOUT 1500)
cg2d_add_program_test(command_loop_test SCRIPT program/command_loop_test.py TIMEOUT 300)
cg2d_add_program_test(help_test SCRIPT program/help_test.py TIMEOUT 600)
cg2d_add_program_test(file_pairs_test SCRIPT program/file_pairs_test.py TIMEOUT 600)
cg2d_add_program_test(standard_output_test SCRIPT program/standard_output_test.py LABELS quick TIMEOUT 300)
cg2d_add_program_test(ignored_input_test SCRIPT program/ignored_input_test.py TIMEOUT 600)
cg2d_add_program_test(report_test SCRIPT program/report_test.py LABELS quick TIMEOUT 600)
cg2d_add_program_test(report_command_test SCRIPT program/report_command_test.py TIMEOUT 300)
cg2d_add_program_test(report_json_test SCRIPT program/report_json_test.py TIMEOUT 600)
cg2d_add_program_test(foreign_bytes_test SCRIPT program/foreign_bytes_test.py TIMEOUT 300)
cg2d_add_program_test(thread_waiting_test SCRIPT program/thread_waiting_test.py TIMEOUT 300)
cg2d_add_program_test(blas_threads_test SCRIPT program/blas_threads_test.py LABELS quick TIMEOUT 300)
cg2d_add_program_test(binding_test SCRIPT program/binding_test.py TIMEOUT 300)
cg2d_add_program_test(quiet_run_test SCRIPT program/quiet_run_test.py TIMEOUT 300)
if(CG2D_BUILD_SIMULATOR)
  cg2d_add_program_test(simulate_test SCRIPT program/simulate_test.py TIMEOUT 600)
endif()
cg2d_add_program_test(batch_test SCRIPT program/batch_test.py TIMEOUT 600)
cg2d_add_program_test(cut_test SCRIPT program/cut_test.py TIMEOUT 600)
cg2d_add_program_test(rebalance_test SCRIPT program/rebalance_test.py TIMEOUT 300)
cg2d_add_program_test(overlap_run_test SCRIPT program/overlap_run_test.py TIMEOUT 300)
cg2d_add_program_test(reproducible_run_test SCRIPT program/reproducible_run_test.py TIMEOUT 300)
cg2d_add_program_test(build_parts_test SCRIPT program/build_parts_test.py LABELS quick TIMEOUT 300)
cg2d_add_program_test(counters_test ALONE SCRIPT program/counters_test.py TIMEOUT 300)
cg2d_add_program_test(stray_memory_test ALONE SCRIPT program/stray_memory_test.py TIMEOUT 300)
cg2d_add_program_test(memory_limit_test SCRIPT program/memory_limit_test.py TIMEOUT 3600)
cg2d_add_program_test(transport_refusal_test SCRIPT program/transport_refusal_test.py TIMEOUT 300)
cg2d_add_program_test(roofline_test ALONE SCRIPT program/roofline_test.py TIMEOUT 300)
cg2d_add_program_test(checkpoint_test SCRIPT program/checkpoint_test.py TIMEOUT 600)
cg2d_add_program_test(solve_checkpoint_test SCRIPT program/solve_checkpoint_test.py TIMEOUT 600)
cg2d_add_program_test(checkpoint_kill_test ALONE MAIN SCRIPT program/checkpoint_kill_test.py TIMEOUT 1800)
cg2d_add_program_test(file_faults_test SCRIPT program/file_faults_test.py TIMEOUT 600)
# Sanitizers must be loaded first themselves, and Open MPI has its own names for ranks.
if(NOT CG2D_SANITIZE)
  add_library(cg2d_fault_injector SHARED support/fault_injector.cpp)
  target_compile_features(cg2d_fault_injector PRIVATE cxx_std_20)
  target_link_libraries(cg2d_fault_injector PRIVATE cg2d_compile_options ${CMAKE_DL_LIBS})
  add_dependencies(default_tests cg2d_fault_injector)
  set_property(TEST file_faults_test APPEND PROPERTY ENVIRONMENT CG2D_FAULT_INJECTOR=$<TARGET_FILE:cg2d_fault_injector>)
endif()
cg2d_add_program_test(out_of_core_test WAITS SCRIPT program/out_of_core_test.py TIMEOUT 300)
cg2d_add_program_test(solve_out_of_core_test WAITS SCRIPT program/solve_out_of_core_test.py TIMEOUT 300)
cg2d_add_program_test(stencil_program_test SCRIPT program/stencil_program_test.py TIMEOUT 300)
cg2d_add_program_test(guard_test SCRIPT program/guard_test.py TIMEOUT 300)
cg2d_add_program_test(trace_test SCRIPT program/trace_test.py TIMEOUT 300)
cg2d_add_program_test(transport_auto_test SCRIPT program/transport_auto_test.py TIMEOUT 300)
cg2d_add_program_test(report_blocks_test SCRIPT program/report_blocks_test.py TIMEOUT 600)
cg2d_add_program_test(tune_test SCRIPT program/tune_test.py TIMEOUT 600)
cg2d_add_program_test(sweep_test SCRIPT program/sweep_test.py TIMEOUT 600)
cg2d_add_program_test(system_sweep_test SCRIPT program/system_sweep_test.py TIMEOUT 600)
cg2d_add_program_test(system_scaling_test SCRIPT program/system_scaling_test.py TIMEOUT 300)
cg2d_add_program_test(scaling_test SCRIPT program/scaling_test.py TIMEOUT 300)
cg2d_add_program_test(pingpong_program_test ALONE SCRIPT program/pingpong_program_test.py TIMEOUT 300)
# Beside another test its calibration is taken again until the machine is quiet: 193 s instead of 20.
cg2d_add_program_test(model_test ALONE SCRIPT program/model_test.py TIMEOUT 300)
cg2d_add_program_test(explain_test SCRIPT program/explain_test.py TIMEOUT 300)
cg2d_add_program_test(check_program_test SCRIPT program/check_program_test.py TIMEOUT 300)
cg2d_add_program_test(stall_test WAITS SCRIPT program/stall_test.py TIMEOUT 600)
cg2d_add_program_test(export_mtx_test SCRIPT program/export_mtx_test.py TIMEOUT 300)
cg2d_add_program_test(solve_test SCRIPT program/solve_test.py TIMEOUT 600)
cg2d_add_program_test(solve_several_test SCRIPT program/solve_several_test.py TIMEOUT 600)
cg2d_add_program_test(symmetrize_test SCRIPT program/symmetrize_test.py TIMEOUT 300)
cg2d_add_program_test(solve_odd_files_test SCRIPT program/solve_odd_files_test.py TIMEOUT 600)
cg2d_add_program_test(solve_measured_test SCRIPT program/solve_measured_test.py TIMEOUT 300)
cg2d_add_program_test(old_processor_test SCRIPT program/old_processor_test.py TIMEOUT 300)
cg2d_add_program_test(launcher_test SCRIPT program/launcher_test.py TIMEOUT 300)
cg2d_add_program_test(progress_test WAITS SCRIPT program/progress_test.py TIMEOUT 600)
cg2d_add_program_test(several_hosts_test ALONE MAIN SCRIPT program/several_hosts_test.py TIMEOUT 600)
set_tests_properties(several_hosts_test PROPERTIES SKIP_RETURN_CODE 77)
cg2d_add_program_test(hostile_surroundings_test WAITS SCRIPT program/hostile_surroundings_test.py TIMEOUT 600)
# Random files and kills: samples of the large numbers for which these tests have options.
cg2d_add_program_test(fuzz_test MAIN SCRIPT program/fuzz_test.py LABELS thorough TIMEOUT 600)
cg2d_add_program_test(kill_test ALONE MAIN SCRIPT program/kill_test.py LABELS thorough TIMEOUT 600)

if(CG2D_BUILD_BENCH)
  # It takes both programs from the build folder.
  cg2d_add_program_test(regression_test SCRIPT scripts/regression_test.py LABELS thorough TIMEOUT 300)
endif()

# The sanitizers are not installed with the library, and a consumer would not link without them.
if(NOT CG2D_SANITIZE)
  # The examples against the installed library; the installed program and its page. Three quarters of a minute to compile.
  cg2d_add_program_test(install_consumer_test ALONE SCRIPT install/install_consumer_test.py LABELS thorough TIMEOUT 400)
  cg2d_add_program_test(library_examples_test SCRIPT install/library_examples_test.py LABELS thorough TIMEOUT 400)
  set(consumer_options
      "-G${CMAKE_GENERATOR}" "-DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
      "-DMPI_CXX_COMPILER=${MPI_CXX_COMPILER}" "-DCMAKE_BUILD_TYPE=Release")
  string(REPLACE ";" "\\;" consumer_options "${consumer_options}")
  set_property(
    TEST install_consumer_test library_examples_test
    APPEND
    PROPERTY ENVIRONMENT CG2D_CMAKE=${CMAKE_COMMAND} CG2D_BUILD_TREE=${PROJECT_BINARY_DIR}
             "CG2D_CONSUMER_OPTIONS=${consumer_options}")
endif()

# cg2d_add_class_test(CLASS [SOME] RANKS list GRIDS all|rule [LABELS label...] TIMEOUT seconds): zeta of one class on many grids,
# or on SOME of them.
function(cg2d_add_class_test class_name)
  cmake_parse_arguments(test "SOME" "RANKS;GRIDS;TIMEOUT" "LABELS" ${ARGN})
  set(which grids)
  if(test_SOME)
    set(which some_grids)
  endif()
  cg2d_add_program_test(
    class_${class_name}_${which}_test ALONE MAIN
    SCRIPT program/class_grids_test.py
    ARGUMENTS --class ${class_name} --ranks ${test_RANKS} --grids ${test_GRIDS}
    LABELS ${test_LABELS}
    TIMEOUT ${test_TIMEOUT})
endfunction()

# Classes S and W: reproducible_test. Timeouts are there for hangs: speed is not asserted in tests.
cg2d_add_class_test(A SOME RANKS 2,4 GRIDS rule TIMEOUT 300)
cg2d_add_class_test(A RANKS 1-16 GRIDS rule LABELS thorough TIMEOUT 900)
cg2d_add_class_test(B RANKS 1,2,4 GRIDS rule LABELS thorough TIMEOUT 900)
cg2d_add_class_test(C RANKS 2 GRIDS rule LABELS thorough TIMEOUT 900)

# cg2d report: the parts of its package, and its page in a browser.
cg2d_add_program_test(report_parts_test SCRIPT scripts/report_parts_test.py TIMEOUT 300)
cg2d_add_program_test(report_trace_test SCRIPT scripts/report_trace_test.py TIMEOUT 300)
cg2d_add_program_test(compare_npb_test SCRIPT scripts/compare_npb_test.py TIMEOUT 300)
cg2d_add_program_test(release_check_test SCRIPT scripts/release_check_test.py TIMEOUT 120)
cg2d_add_program_test(packaging_test SCRIPT scripts/packaging_test.py TIMEOUT 120)
cg2d_add_program_test(quickstart_test SCRIPT scripts/quickstart_test.py LABELS quick TIMEOUT 60)
cg2d_add_program_test(fuzz_script_test SCRIPT scripts/fuzz_script_test.py TIMEOUT 60)
# Of scripts that the thorough stages run.
cg2d_add_program_test(checked_runs_test SCRIPT scripts/checked_runs_test.py LABELS thorough TIMEOUT 120)
cg2d_add_program_test(slurm_test SCRIPT scripts/slurm_test.py TIMEOUT 300)
# The list of faults against the sources, and the script on a project of a few lines.
cg2d_add_program_test(mutants_test SCRIPT scripts/mutants_test.py LABELS quick TIMEOUT 300)
# It makes the answers of all exercises, and the commands that these use have tests of their own.
cg2d_add_program_test(teaching_test SCRIPT scripts/teaching_test.py LABELS thorough TIMEOUT 300)
cg2d_add_program_test(report_page_test SCRIPT scripts/report_page_test.py LABELS thorough TIMEOUT 600)

# The order of the rooms.
cg2d_add_program_test(rooms_test SCRIPT scripts/rooms_test.py LABELS quick TIMEOUT 60)

# The READMEs against the program, the scripts and the sources.
cg2d_add_program_test(readme_test SCRIPT scripts/readme_test.py LABELS quick TIMEOUT 300)

# A library that counts what MPI sends is loaded before MPI; a sanitizer's would have to come before it.
if(NOT CG2D_SANITIZE)
  add_library(cg2d_message_counter SHARED ${CMAKE_CURRENT_SOURCE_DIR}/support/message_counter.cpp)
  target_compile_features(cg2d_message_counter PRIVATE cxx_std_20)
  target_link_libraries(cg2d_message_counter PRIVATE MPI::MPI_CXX)
  cg2d_place_test(cg2d_message_counter program)
  cg2d_add_program_test(message_count_test SCRIPT program/message_count_test.py TIMEOUT 600)
  set_property(TEST message_count_test APPEND PROPERTY ENVIRONMENT CG2D_MESSAGE_COUNTER=$<TARGET_FILE:cg2d_message_counter>)
endif()
