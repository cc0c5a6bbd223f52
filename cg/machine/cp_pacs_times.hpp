#pragma once

// Times measured on CP-PACS: Tables 2 to 6 of K. Itakura, M. Matsubara, T. Boku, H. Nakamura, K. Nakazawa, "Performance
// Evaluation of NPB Kernel CG on CP-PACS", IPSJ Transactions 39(6), 1998; class B.

#include <array>
#include <string_view>

namespace cg2d::cp_pacs {

inline constexpr std::array columns{1, 2, 4, 8};  ///< Px
using ByColumns = std::array<double, columns.size()>;
inline constexpr std::array rank_counts{16, 32, 64, 128, 256};  ///< processing units
inline constexpr int most_ranks = rank_counts.back();

/// Seconds: [place in rank_counts][place in columns]
using SecondsTable = std::array<ByColumns, rank_counts.size()>;
/// The compiler's loop, critical vector length 50.
inline constexpr SecondsTable table_2{{{106.21, 126.41, 203.43, 252.83},
                                       {55.75, 66.18, 105.24, 129.66},
                                       {30.89, 35.07, 55.34, 69.11},
                                       {19.66, 20.54, 30.44, 39.00},
                                       {13.19, 13.00, 17.66, 19.73}}};
/// The hand-made loop, critical vector length 20.
inline constexpr SecondsTable table_6{{{101.25, 110.22, 138.96, 198.46},
                                       {54.51, 58.98, 71.04, 100.95},
                                       {30.30, 31.09, 36.93, 52.54},
                                       {18.38, 17.59, 19.92, 27.90},
                                       {12.94, 11.38, 11.86, 15.41}}};

/// Clocks of a call on 256 units.
struct ClockRow {
  std::string_view name;
  ByColumns clocks;
};
/// The paper calls them clocks per iteration, but the 8 steps of one dot product alone take 44000 of them, and only one of each fits the
/// times of Table 2.
inline constexpr std::array table_3{ClockRow{"matvec", {804846, 797683, 1143634, 1290212}},
                                    ClockRow{"dotpro", {55478, 59084, 61063, 59976}},
                                    ClockRow{"daxpy", {3115, 3130, 3207, 3059}}};
/// Critical vector length 50.
inline constexpr std::array table_4{ClockRow{"collection", {444295, 253017, 148965, 86151}},
                                    ClockRow{"multiply", {351274, 490649, 873599, 1091424}},
                                    ClockRow{"summation", {94, 15115, 40072, 87841}},
                                    ClockRow{"shuffle", {9757, 6914, 6874, 6749}}};
/// Critical vector length 20.
inline constexpr std::array table_5{ClockRow{"multiply", {357818, 419084, 531332, 769355}}};

}  // namespace cg2d::cp_pacs
