# Writes the source that knows the commit. Runs in every build, since a commit changes no source:
#   cmake -DSOURCE=folder -DTEMPLATE=build_commit.cpp.in -DTARGET=build_commit.cpp -P cg2dCommit.cmake
# configure_file() leaves a file that would stay the same alone, so that nothing is compiled again.

set(CG2D_COMMIT unknown)
set(CG2D_TREE_CHANGED std::nullopt)

function(ask_git result)
  execute_process(
    COMMAND git -C "${SOURCE}" ${ARGN}
    RESULT_VARIABLE code
    OUTPUT_VARIABLE text
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(code EQUAL 0)
    set(${result} "${text}" PARENT_SCOPE)
  else()
    set(${result} unknown PARENT_SCOPE)
  endif()
endfunction()

# A copy without .git inside of another project is not of that project's commit.
ask_git(top rev-parse --show-toplevel)
file(REAL_PATH "${SOURCE}" real_source)
if(top STREQUAL real_source)
  ask_git(CG2D_COMMIT rev-parse HEAD)
  ask_git(changes status --porcelain --untracked-files=no)
  if(changes STREQUAL "")
    set(CG2D_TREE_CHANGED false)
  elseif(NOT changes STREQUAL unknown)
    set(CG2D_TREE_CHANGED true)
  endif()
endif()
configure_file("${TEMPLATE}" "${TARGET}" @ONLY)
