# Compiles every source of kernels/ for aarch64, whose processors take the portable loops: cmake -DCLANG=... -DPROJECT=... -P this.
# Nothing is linked or run.

file(GLOB sources "${PROJECT}/kernels/*.cpp")
if(NOT sources)
  message(FATAL_ERROR "no sources in ${PROJECT}/kernels")
endif()
foreach(source IN LISTS sources)
  execute_process(
    COMMAND ${CLANG} --target=aarch64-linux-gnu -std=c++20 -O2 -fopenmp -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
            -I${PROJECT} -c ${source} -o /dev/null
    RESULT_VARIABLE result
    ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${source} does not compile for aarch64:\n${errors}")
  endif()
endforeach()
