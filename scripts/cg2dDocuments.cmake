# Writes the manual pages and completion scripts that the program at PROGRAM makes to folders below FOLDER. Where the program
# cannot run (a login node without MPI, say), a warning takes their place: the build needs none of them.

set(ENV{ASAN_OPTIONS} detect_leaks=0) # in a build with sanitizers the leaks of libraries would be an error

function(write_document file)
  execute_process(
    COMMAND ${PROGRAM} ${ARGN}
    OUTPUT_VARIABLE text
    ERROR_VARIABLE error
    RESULT_VARIABLE result)
  if(result EQUAL 0)
    file(WRITE ${FOLDER}/${file} "${text}")
  else()
    message(WARNING "cg2d does not run here (${result} ${error}): ${file} is not made, and not installed")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
write_document(bash/cg2d completion bash)
write_document(zsh/_cg2d completion zsh)
write_document(fish/cg2d.fish completion fish)
write_document(man1/cg2d.1 help --man)

execute_process(COMMAND ${PROGRAM} help OUTPUT_VARIABLE overview)
string(REGEX REPLACE ".*\nCommands:\n(.*)\n\nExamples:.*" "\\1" overview "${overview}")
string(REGEX MATCHALL "(^|\n)  [a-z]+" commands "${overview}")
foreach(command IN LISTS commands)
  string(STRIP "${command}" command)
  write_document(man1/cg2d-${command}.1 help --man ${command})
endforeach()
file(MAKE_DIRECTORY ${FOLDER})
file(TOUCH ${FOLDER}/made)
