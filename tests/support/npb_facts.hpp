#pragma once

// Facts of the NAS CG matrices and runs, with which the tests compare.
//
// Matrix figures: from an independent generator in Python, in double precision, whose order of additions is
// not the official one. Zeta of every outer step: as the official NPB 3.4 program prints it, on 1 rank.

#include <array>
#include <cstdint>
#include <string_view>

namespace cg2d::test {

/// Figures of one matrix. Counts and seeds are exact; sums agree to relative_tolerance.
struct NpbFacts {
  std::string_view class_name;
  int64_t nonzero_count;
  int64_t shortest_row;
  int64_t longest_row;
  double frobenius_norm;
  double sum_of_entries;
  uint64_t final_seed;
  int64_t duplicate_pairs;     // dropped, since the vector had the position; -1: not known
  int64_t out_of_range_pairs;  // dropped, since the position was >= n; -1: not known
};

/// For sums in another order of additions: 1e4 to 1e7 rounding errors of 1e-16, most of which cancel.
inline constexpr double relative_tolerance = 1e-12;

inline constexpr std::array<double, 15> class_s_zetas{
    9.998644157914,  8.5733279203222, 8.5954510374058, 8.5969972340737, 8.5971549151767,
    8.5971744311608, 8.5971770704913, 8.597177444063,  8.5971774983942, 8.5971775064409,
    8.5971775076486, 8.5971775078318, 8.5971775078598, 8.5971775078641, 8.5971775078648};

inline constexpr std::array<double, 15> class_w_zetas{
    11.9997003727381, 10.3457275664058, 10.3617880137963, 10.3625416284965, 10.3625905854467,
    10.3625946467087, 10.3625950398342, 10.3625950817269, 10.3625950864815, 10.3625950870452,
    10.3625950871141, 10.3625950871227, 10.3625950871238, 10.362595087124,  10.362595087124};

inline constexpr std::array<NpbFacts, 4> npb_facts{{
    {.class_name = "S",
     .nonzero_count = 78'148,
     .shortest_row = 8,
     .longest_row = 127,
     .frobenius_norm = 335.94017389091596,
     .sum_of_entries = -4796.559321013352,
     .final_seed = 37'562'041'448'909,
     .duplicate_pairs = 28,
     .out_of_range_pairs = 4669},
    {.class_name = "W",
     .nonzero_count = 508'402,
     .shortest_row = 9,
     .longest_row = 168,
     .frobenius_norm = 908.021702778376,
     .sum_of_entries = -26325.256014458566,
     .final_seed = 32'797'703'206'485,
     .duplicate_pairs = 28,
     .out_of_range_pairs = 9456},
    {.class_name = "A",
     .nonzero_count = 1'853'104,
     .shortest_row = 12,
     .longest_row = 294,
     .frobenius_norm = 2184.917870366769,
     .sum_of_entries = -77001.56841583322,
     .final_seed = 31'036'621'594'365,
     .duplicate_pairs = 57,
     .out_of_range_pairs = 26290},
    {.class_name = "B",
     .nonzero_count = 13'708'072,
     .shortest_row = 27,
     .longest_row = 404,
     .frobenius_norm = 15924.596378242659,
     .sum_of_entries = -3022361.4337166357,
     .final_seed = 11'117'530'962'933,
     .duplicate_pairs = -1,
     .out_of_range_pairs = -1},
}};

}  // namespace cg2d::test
