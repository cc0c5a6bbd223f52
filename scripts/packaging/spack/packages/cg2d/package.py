# Spack recipe. It stands in the repository that it builds:
#     spack repo add scripts/packaging/spack
#     spack install cg2d@main                  # the committed state of this clone
#     spack install cg2d@0.1.0 ~papi ^blis     # a tag of it, without PAPI, with BLIS

import pathlib

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass

# What CMake's FindBLAS calls the providers of Spack; OpenBLAS is found by its pkg-config file.
BLAS_VENDORS = {"blis": "FLAME", "amdblis": "FLAME", "intel-oneapi-mkl": "Intel10_64lp_seq", "intel-mkl": "Intel10_64lp_seq"}


class Cg2d(CMakePackage):
    """The NAS conjugate-gradient benchmark (NPB CG) on any two-dimensional grid of MPI ranks, verified and timed phase by
    phase, and conjugate gradients for a user's own sparse systems."""

    git = pathlib.Path(__file__).resolve().parents[5].as_uri()
    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("papi", default=True, description="count the processor's events with PAPI")
    variant("native", default=False, description="compile everything for the processor of the build machine")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("blas")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("cli11@2.1:")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("liburing")
    depends_on("highway", type="build")  # headers only
    depends_on("papi", when="+papi")
    depends_on("hwloc@2.4:")

    generator("ninja")

    def cmake_args(self):
        blas = self.spec["blas"].name
        vendor = "OpenBLAS" if blas == "openblas" else BLAS_VENDORS.get(blas, "Generic")
        return [
            self.define("BLA_VENDOR", vendor),
            self.define("CG2D_BUILD_TESTS", False),
            self.define("CG2D_BUILD_BENCH", False),
            self.define_from_variant("CG2D_WITH_PAPI", "papi"),
            self.define_from_variant("CG2D_NATIVE", "native"),
        ]

    def test_class_s(self):
        """class S on 2 ranks verifies"""
        launcher = which(self.spec["mpi"].prefix.bin.mpiexec)
        output = launcher("-n", "2", self.prefix.bin.cg2d, "run", "--class", "S", output=str.split, error=str.split)
        assert "VERIFICATION SUCCESSFUL" in output
