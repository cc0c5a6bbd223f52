# Writes the completion scripts that the program at PROGRAM makes, and the manual pages that HELP2MAN, where there is one, makes from its --help,
# to folders below FOLDER. Where the program cannot run (a login node without MPI, say), a warning takes their place: the build needs none of them.

set(ENV{ASAN_OPTIONS} detect_leaks=0) # in a build with sanitizers the leaks of libraries would be an error

# write_document(FILE COMMAND...)
function(write_document file)
  execute_process(
    COMMAND ${ARGN}
    OUTPUT_VARIABLE text
    ERROR_VARIABLE error
    RESULT_VARIABLE result)
  if(result EQUAL 0)
    file(WRITE ${FOLDER}/${file} "${text}")
  else()
    message(WARNING "cg2d does not run here (${result} ${error}): ${file} is not made, and not installed")
  endif()
endfunction()

# write_page(NAME COMMAND...): the page of that name, from the help of a command of the program, or of the program.
function(write_page name)
  execute_process(COMMAND ${PROGRAM} ${ARGN} --help OUTPUT_VARIABLE help)
  string(REGEX REPLACE "\n\n.*" "" purpose "${help}")
  string(REPLACE "\n" " " purpose "${purpose}")
  string(JOIN " " help_option ${ARGN} --help)
  write_document(man1/${name}.1 ${HELP2MAN} --no-info "--manual=cg2d manual" "--name=${purpose}" "--version-string=${name} ${version}"
                 "--help-option=${help_option}" ${PROGRAM})
endfunction()

file(REMOVE_RECURSE ${FOLDER})
write_document(bash/cg2d ${PROGRAM} completion bash)
write_document(zsh/_cg2d ${PROGRAM} completion zsh)
write_document(fish/cg2d.fish ${PROGRAM} completion fish)
if(HELP2MAN)
  execute_process(COMMAND ${PROGRAM} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "cg2d " "" version "${version}")
  write_page(cg2d)
  execute_process(COMMAND ${PROGRAM} help OUTPUT_VARIABLE overview)
  string(REGEX REPLACE ".*\nCommands:\n(.*)\n\nExamples:.*" "\\1" overview "${overview}")
  string(REGEX MATCHALL "(^|\n)  [a-z]+" commands "${overview}")
  foreach(command IN LISTS commands)
    string(STRIP "${command}" command)
    write_page(cg2d-${command} ${command})
  endforeach()
endif()
file(MAKE_DIRECTORY ${FOLDER})
file(TOUCH ${FOLDER}/made)
