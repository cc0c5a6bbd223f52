# For a processor other than this one's: CMAKE_SYSTEM_PROCESSOR, which the preset names as the compilers do. Debian's cross compiler, and the
# libraries that `scripts/install-dependencies cross` has unpacked for that processor below build/.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSTEM_PROCESSOR)
set(triple ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CXX_COMPILER ${triple}-g++)
cmake_path(SET libraries NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/cross/${CMAKE_SYSTEM_PROCESSOR}")
set(CMAKE_SYSROOT ${libraries})
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
# Before the libraries that came with the compiler, which may be older ones.
file(GLOB folders_of_gcc ${libraries}/usr/lib/gcc/${triple}/*)
list(TRANSFORM folders_of_gcc PREPEND "-L" OUTPUT_VARIABLE folders)
list(JOIN folders " " folders)
foreach(kind IN ITEMS EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-B${libraries}/usr/lib/${triple} ${folders}")
endforeach()
string(REPLACE "qemu-powerpc" "qemu-ppc" emulator qemu-${CMAKE_SYSTEM_PROCESSOR})  # it has a name of its own for POWER
set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator} -L ${libraries})

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${libraries})
set(folders "")
foreach(folder IN ITEMS lib/${triple} lib/${triple}/openblas-serial share)
  list(APPEND folders ${libraries}/usr/${folder}/pkgconfig)
endforeach()
list(JOIN folders ":" folders)
set(ENV{PKG_CONFIG_LIBDIR} ${folders})
# MPICH's wrapper is a program of the other processor, so FindMPI is told what it would say.
set(MPI_CXX_COMPILER_INCLUDE_DIRS ${libraries}/usr/include/${triple}/mpich)
set(MPI_CXX_LIB_NAMES mpich)
set(MPI_mpich_LIBRARY ${libraries}/usr/lib/${triple}/libmpich.so)
