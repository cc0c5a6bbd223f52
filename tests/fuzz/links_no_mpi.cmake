# cmake -DPROGRAM=program -P links_no_mpi.cmake
# Fails where a program needs a library of MPI, of itself or through another one.
execute_process(COMMAND ldd ${PROGRAM} OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
if(NOT libraries MATCHES "libc\\.so")
  message(FATAL_ERROR "ldd lists no libraries of ${PROGRAM}: ${libraries}")
endif()
string(REGEX MATCH "[^\n]*lib(mpi|mpich|pmpi|pmix|open-rte|open-pal|ucp)[^\n]*" found "${libraries}")
if(found)
  message(FATAL_ERROR "${PROGRAM} needs MPI: ${found}")
endif()
message(STATUS "no library of MPI")
