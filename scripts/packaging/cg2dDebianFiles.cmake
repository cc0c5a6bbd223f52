# Called by CPack when all files are in place and before they are packed. Brings them into the form of Debian's policy: copyright
# and changelogs, compressed manual pages, no copy of the licence, no unneeded sections in the static library.

cmake_minimum_required(VERSION 3.25)

set(source ${CMAKE_CURRENT_LIST_DIR}/../..)
set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)

function(compress)
  if(ARGN)
    execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

# prepare(COMPONENT PACKAGE)
function(prepare component package)
  set(prefix "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr")
  set(documents "${prefix}/share/doc/${package}")
  file(MAKE_DIRECTORY "${documents}")
  file(REMOVE "${documents}/LICENSE")
  file(COPY_FILE ${debian}/copyright "${documents}/copyright")
  file(COPY_FILE ${source}/CHANGELOG.md "${documents}/changelog")
  file(REMOVE "${documents}/CHANGELOG.md")
  set(CG2D_PACKAGE_VERSION ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
  string(TIMESTAMP CG2D_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
  configure_file(${debian}/changelog.in "${documents}/changelog.Debian" @ONLY)
  file(GLOB manual_pages "${prefix}/share/man/man1/*.1")
  compress("${documents}/changelog" "${documents}/changelog.Debian" ${manual_pages})
  file(GLOB_RECURSE libraries "${prefix}/lib/*.a")
  foreach(library IN LISTS libraries)
    execute_process(COMMAND strip --strip-debug --remove-section=.comment --remove-section=.note
                            --enable-deterministic-archives ${library} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  # Whatever the umask of who builds it.
  file(GLOB_RECURSE files LIST_DIRECTORIES true "${prefix}/*")
  foreach(file IN LISTS files)
    if(IS_DIRECTORY "${file}")
      file(CHMOD "${file}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    endif()
  endforeach()
endfunction()

prepare(program cg2d)
prepare(development libcg2d-dev)
