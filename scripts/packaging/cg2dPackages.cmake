# Debian packages by CPack: cg2d (the program with everything beside it) and libcg2d-dev (headers, static library, CMake package).
# scripts/packaging/deb makes them. Included at the end of CMakeLists.txt.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cg2d)
set(CPACK_PACKAGE_VENDOR "cg2d")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "NAS conjugate-gradient benchmark on any grid of MPI ranks")
set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME}")
if(CPACK_PACKAGE_CONTACT STREQUAL "")
  set(CPACK_PACKAGE_CONTACT "The cg2d authors")
endif()
if("$ENV{DEBEMAIL}" STREQUAL "")
  string(APPEND CPACK_PACKAGE_CONTACT " <cg2d@example.org>")
else()
  string(APPEND CPACK_PACKAGE_CONTACT " <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0upstream1) # before any revision of Debian
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME cg2d)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# Any of them would do; the first one, which apt installs where there is none, has no threads of its own.
if(cg2d_blas_kind STREQUAL openblas)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libopenblas0-serial | libopenblas0-pthread | libopenblas0-openmp")
endif()
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "mpich, python3")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "cg2d runs the NAS CG benchmark (NPB CG) on any Px x Py grid of MPI ranks,
verifies the result, times every phase, and finds the grid, kernel and
transport that suit a machine best. It also solves sparse symmetric positive
definite systems of a user's own.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcg2d-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION_SUMMARY "distributed conjugate gradients on a grid of MPI ranks - library")
# What cg2dConfig.cmake looks for.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libmpich-dev, libopenblas-serial-dev | libopenblas-dev, libfmt-dev, zlib1g-dev, libzstd-dev, pkg-config")
if(papi_target)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libpapi-dev")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "The static library of cg2d for programs in C++, C and Fortran: systems
A x = b with a sparse symmetric positive definite matrix, on any grid of MPI
ranks. This package has the headers, the library and its CMake package.")

# The files that Debian wants in another form than others do.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/scripts/packaging/cg2dDebianFiles.cmake)

include(CPack)
