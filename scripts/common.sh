# shellcheck shell=bash
# Functions that the scripts share. To be sourced; leaves the caller in the top folder of the project.

root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 70

say() { printf '==> %s\n' "$*"; }

# die EXIT_CODE MESSAGE: one line on stderr. The codes are those of sysexits.h, as in the program.
die() {
  printf '%s: %s\n' "$(basename "$0")" "$2" >&2
  exit "$1"
}

first_command() {
  local name
  for name in "$@"; do
    if command -v "$name"; then return; fi
  done
}

# choose_mpi [mpich|openmpi]: sets MPIEXEC (exported) and mpi_options (for CMake). Without an argument CG2D_MPI decides, and without
# that it is MPICH. Where several MPIs are installed, plain "mpicxx" may be another one, and a program that is built with one MPI
# and started by the other is N separate single ranks. So compiler wrapper and launcher are both taken by their full names, where
# these exist. MPICXX and MPIEXEC, if set, are left alone.
choose_mpi() {
  case ${1:-${CG2D_MPI:-mpich}} in
    mpich)
      MPICXX=${MPICXX:-$(first_command mpicxx.mpich mpicxx)}
      MPIEXEC=${MPIEXEC:-$(first_command mpiexec.mpich mpiexec.hydra mpiexec)}
      ;;
    openmpi)
      MPICXX=${MPICXX:-$(first_command mpicxx.openmpi mpicxx)}
      MPIEXEC=${MPIEXEC:-$(first_command mpiexec.openmpi mpiexec)}
      # Its launcher refuses root, refuses more ranks than cores, and binds each rank to a core, unless it is told otherwise.
      export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
      ;;
    *) die 64 "no such MPI: ${1:-$CG2D_MPI} (mpich or openmpi)" ;;
  esac
  if [[ -z $MPICXX || -z $MPIEXEC ]]; then die 69 'mpicxx or mpiexec not found: install MPICH (or Open MPI, with CG2D_MPI=openmpi)'; fi
  export MPIEXEC
  # shellcheck disable=SC2034  # read by the scripts that source this file
  mpi_options=("-DMPI_CXX_COMPILER=$MPICXX" "-DMPIEXEC_EXECUTABLE=$MPIEXEC")
}

# Copies ninja's lines from standard input, each with the time so far and an estimate of what is left: as long for each further unit as
# for all so far or, where these took longer, since the first ones are small, for those of the later half.
with_time_left() {
  local start=$SECONDS line units total half of_all of_half times=()
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]] && ((BASH_REMATCH[1] > 0)); then
      units=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} half=$((BASH_REMATCH[1] / 2))
      times[units]=$((SECONDS - start))
      of_all=$((times[units] * (total - units) / units)) of_half=$(((times[units] - times[half]) * (total - units) / (units - half)))
      line="[$units/$total] ${times[units]} s, about $((of_all > of_half ? of_all : of_half)) s left: ${BASH_REMATCH[3]}"
    fi
    printf '%s\n' "$line"
  done
}

# One compiler per core, but no more than memory holds: a translation unit with GoogleTest under a sanitizer takes up to 2 GB.
job_count() {
  local cores memory_kb jobs
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((memory_kb / (2 * 1024 * 1024)))
  if ((jobs > cores)); then jobs=$cores; fi
  if ((jobs < 1)); then jobs=1; fi
  echo "$jobs"
}
