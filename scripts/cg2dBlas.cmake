# Makes the target cg2d_cblas, any BLAS with the functions of CBLAS, and sets cg2d_blas_kind: openblas, blis, mkl or reference, of
# which each has a branch in cg/machine/blas/blas_library.cpp. Included by the build and by the installed package, after
# FindPkgConfig.
#
# Without BLA_VENDOR, OpenBLAS by its pkg-config file, without threads where the system has it so; where there is none, and for
# another BLA_VENDOR (FLAME for BLIS, Intel10_64lp_seq for MKL, Generic for the reference), what CMake's FindBLAS finds.
#
# An OpenBLAS with threads starts them when it is loaded, before main can forbid it. Where the system refuses one of them
# (ulimit -v), the program hangs at its end. The serial one has the same loops. Debian installs both side by side, and its
# alternatives prefer the one with threads, so the folder of the serial one is named here. The link then carries that folder
# (RUNPATH), because both libraries have the same name. Folders that the user names (PKG_CONFIG_PATH, CMAKE_PREFIX_PATH) come
# first.

include(CheckCXXSourceCompiles)

add_library(cg2d_cblas INTERFACE IMPORTED)

function(cg2d_find_openblas)
  set(pkg_config_path "$ENV{PKG_CONFIG_PATH}")
  set(serial_openblas "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial/pkgconfig")
  if(pkg_config_path STREQUAL "")
    set(ENV{PKG_CONFIG_PATH} "${serial_openblas}")
  else()
    set(ENV{PKG_CONFIG_PATH} "${pkg_config_path}:${serial_openblas}")
  endif()
  pkg_check_modules(blas IMPORTED_TARGET openblas)
  set(ENV{PKG_CONFIG_PATH} "${pkg_config_path}")
  set(blas_FOUND "${blas_FOUND}" PARENT_SCOPE)
endfunction()

# cg2d_blas_has(FUNCTION RESULT): whether the library has a function, of whatever arguments.
function(cg2d_blas_has function result)
  set(CMAKE_REQUIRED_LIBRARIES cg2d_cblas)
  set(CMAKE_REQUIRED_QUIET ON)
  unset(${result} CACHE) # BLA_VENDOR may have changed
  check_cxx_source_compiles("extern \"C\" void ${function}(); int main() { ${function}(); }" ${result})
endfunction()

function(cg2d_find_any_blas)
  find_package(BLAS REQUIRED)
  set(cg2d_blas_libraries "${BLAS_LIBRARIES}" PARENT_SCOPE)
  target_link_libraries(cg2d_cblas INTERFACE BLAS::BLAS)
  find_path(CG2D_CBLAS_FOLDER NAMES cblas.h mkl_cblas.h HINTS ENV MKLROOT PATH_SUFFIXES include blis openblas
            DOC "Folder of cblas.h")
  mark_as_advanced(CG2D_CBLAS_FOLDER)
  if(CG2D_CBLAS_FOLDER)
    target_include_directories(cg2d_cblas SYSTEM INTERFACE ${CG2D_CBLAS_FOLDER})
  endif()
  cg2d_blas_has(cblas_ddot CG2D_BLAS_HAS_CBLAS)
  if(NOT CG2D_BLAS_HAS_CBLAS)
    # The reference keeps its functions for C in a library of their own.
    find_library(CG2D_CBLAS_LIBRARY cblas DOC "CBLAS beside a BLAS that has none")
    mark_as_advanced(CG2D_CBLAS_LIBRARY)
    if(NOT CG2D_CBLAS_LIBRARY)
      message(FATAL_ERROR "${BLAS_LIBRARIES} has no functions for C (cblas_ddot), and there is no libcblas beside it")
    endif()
    set_property(TARGET cg2d_cblas PROPERTY INTERFACE_LINK_LIBRARIES "${CG2D_CBLAS_LIBRARY};BLAS::BLAS")
  endif()
endfunction()

set(blas_FOUND FALSE)
if("${BLA_VENDOR}" MATCHES "^(|All|OpenBLAS)$")
  cg2d_find_openblas()
endif()
if(blas_FOUND)
  set_property(TARGET cg2d_cblas PROPERTY INTERFACE_LINK_LIBRARIES PkgConfig::blas)
else()
  cg2d_find_any_blas()
endif()

if(NOT DEFINED cg2d_blas_kind) # the installed package knows it
  set(cg2d_blas_kind reference)
  cg2d_blas_has(openblas_set_num_threads CG2D_BLAS_IS_OPENBLAS)
  cg2d_blas_has(bli_thread_set_num_threads CG2D_BLAS_IS_BLIS)
  cg2d_blas_has(mkl_get_version_string CG2D_BLAS_IS_MKL)
  foreach(kind IN ITEMS openblas blis mkl)
    string(TOUPPER "CG2D_BLAS_IS_${kind}" is_kind)
    if(${is_kind})
      set(cg2d_blas_kind ${kind})
    endif()
  endforeach()
  message(STATUS "BLAS: ${cg2d_blas_kind}")
  if(cg2d_blas_kind STREQUAL mkl AND NOT EXISTS "${CG2D_CBLAS_FOLDER}/cblas.h")
    file(WRITE ${PROJECT_BINARY_DIR}/generated/cblas.h "#include <mkl_cblas.h>\n")
  endif()
endif()
