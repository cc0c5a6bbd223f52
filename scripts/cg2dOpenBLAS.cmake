# Makes the target PkgConfig::blas: OpenBLAS, without threads where the system has it so. Included by the build and by the
# installed package, after FindPkgConfig.
#
# By OpenBLAS's pkg-config file, not by FindBLAS: we call functions of OpenBLAS that no other BLAS has.
#
# An OpenBLAS with threads starts them when it is loaded, before main can forbid it. Where the system refuses one of them
# (ulimit -v), the program hangs at its end. The serial one has the same loops. Debian installs both side by side, and its
# alternatives prefer the one with threads, so the folder of the serial one is named here. The link then carries that folder
# (RUNPATH), because both libraries have the same name. Folders that the user names (PKG_CONFIG_PATH, CMAKE_PREFIX_PATH) come
# first.

set(cg2d_pkg_config_path "$ENV{PKG_CONFIG_PATH}")
set(cg2d_serial_openblas "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial/pkgconfig")
if(cg2d_pkg_config_path STREQUAL "")
  set(ENV{PKG_CONFIG_PATH} "${cg2d_serial_openblas}")
else()
  set(ENV{PKG_CONFIG_PATH} "${cg2d_pkg_config_path}:${cg2d_serial_openblas}")
endif()
pkg_check_modules(blas REQUIRED IMPORTED_TARGET openblas)
set(ENV{PKG_CONFIG_PATH} "${cg2d_pkg_config_path}")
unset(cg2d_pkg_config_path)
unset(cg2d_serial_openblas)
