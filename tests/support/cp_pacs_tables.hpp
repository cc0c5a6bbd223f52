#pragma once

// Times measured on CP-PACS. Source: K. Itakura, M. Matsubara, T. Boku, H. Nakamura, K. Nakazawa,
// "Performance Evaluation of NPB Kernel CG on CP-PACS", IPSJ Transactions 39(6), 1998; class B.

#include <array>

namespace cg2d::test {

inline constexpr std::array<int, 4> paper_columns{1, 2, 4, 8};
using ByColumns = std::array<double, 4>;

/// Seconds on that many processing units (PUs), by Px.
struct PaperRow {
  int rank_count;
  ByColumns seconds;
};

/// Table 2: the compiler's loop, critical vector length 50.
inline constexpr std::array<PaperRow, 5> table_2{{{16, {106.21, 126.41, 203.43, 252.83}},
                                                  {32, {55.75, 66.18, 105.24, 129.66}},
                                                  {64, {30.89, 35.07, 55.34, 69.11}},
                                                  {128, {19.66, 20.54, 30.44, 39.00}},
                                                  {256, {13.19, 13.00, 17.66, 19.73}}}};
/// Table 6: the hand-made loop, critical vector length 20.
inline constexpr std::array<PaperRow, 5> table_6{{{16, {101.25, 110.22, 138.96, 198.46}},
                                                  {32, {54.51, 58.98, 71.04, 100.95}},
                                                  {64, {30.30, 31.09, 36.93, 52.54}},
                                                  {128, {18.38, 17.59, 19.92, 27.90}},
                                                  {256, {12.94, 11.38, 11.86, 15.41}}}};
/// Table 3: clocks of a call on 256 PUs. The paper calls them clocks per iteration, but the 8 steps of one
/// dot product alone take 44000 of them, and only one of each fits the times of Table 2.
inline constexpr ByColumns table_3_dot{55478, 59084, 61063, 59976};
inline constexpr ByColumns table_3_update{3115, 3130, 3207, 3059};
/// Table 4: clocks of a product on 256 PUs, critical vector length 50.
inline constexpr ByColumns table_4_collection{444295, 253017, 148965, 86151};
inline constexpr ByColumns table_4_multiply{351274, 490649, 873599, 1091424};
inline constexpr ByColumns table_4_summation{94, 15115, 40072, 87841};
inline constexpr ByColumns table_4_shuffle{9757, 6914, 6874, 6749};
/// Table 5: the same with critical vector length 20.
inline constexpr ByColumns table_5_multiply{357818, 419084, 531332, 769355};

}  // namespace cg2d::test
