# MPI::MPI_CXX for CG2D_SIMGRID: SMPI, the MPI of SimGrid, which runs all ranks as threads of one process over a simulated network.
#
# Not by its wrapper smpicxx: that makes every function of these names simulated, among them getpid(), by which ranks find each
# other's memory, and replaces the words sleep, free and exit wherever they stand. What it does beside that is done here.

pkg_check_modules(simgrid REQUIRED IMPORTED_TARGET simgrid)
find_path(CG2D_SMPI_INCLUDE mpi.h PATHS ${simgrid_INCLUDE_DIRS} ${simgrid_INCLUDEDIR} PATH_SUFFIXES smpi NO_DEFAULT_PATH REQUIRED)
mark_as_advanced(CG2D_SMPI_INCLUDE)
add_library(MPI::MPI_CXX INTERFACE IMPORTED GLOBAL)
set_target_properties(
  MPI::MPI_CXX PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${CG2D_SMPI_INCLUDE} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${CG2D_SMPI_INCLUDE}
                          INTERFACE_LINK_LIBRARIES PkgConfig::simgrid)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# cg2d_make_simulated(TARGET): a program that smpirun loads once for each rank, so that each has globals of its own. It does not
# start by itself.
function(cg2d_make_simulated target)
  target_compile_options(${target} PRIVATE -fPIC)
  target_compile_definitions(${target} PRIVATE CG2D_IS_LOADED)
  target_link_options(${target} PRIVATE -shared -Wl,-z,defs)
endfunction()
