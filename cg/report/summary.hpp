#pragma once

// The first lines of a report for people: what matters, in as many lines as one looks at.

#include <optional>
#include <string>

#include "cg/machine/provenance.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/grid_trial.hpp"
#include "cg/tuning/kernel_choice.hpp"

namespace cg2d {

/// The six lines, each without its label.
struct Summary {
  std::string result;  ///< whether it is right, and the numbers that say so
  std::string time;
  std::string grid;    ///< the grid, and why this one
  std::string kernel;  ///< the kernel, and why this one
  std::string limit;   ///< the machine's limit, and how much of it was reached
  std::string quiet;   ///< whether the machine was quiet enough for the time to mean something
};
std::string summary_text(const Summary& summary);

/// "1x2, best of 3 tried: better than 2x1 by 85 % (80 ... 91 %); two-sided messages, 2 threads per rank".
std::string grid_summary(const Configuration& configuration, bool is_automatic,
                         const std::optional<GridTrial>& trial);
/// "two-sided messages", "shared memory".
std::string transport_words(const Configuration& configuration);
/// "shared (default)", "put".
std::string transport_text(const Configuration& configuration, ChoiceOrigin origin);
/// Who chose, for people: "default" where the document has the interface's "built-in rule".
std::string_view origin_words(ChoiceOrigin origin);
/// KernelRow::storage_text of a kernel behind its name; empty for none.
std::string storage_words(std::string_view kernel);
/// "sell, avx512 (requested)". trial: the verdict where a trial chose; nullptr else.
std::string kernel_summary(const Configuration& configuration, const std::string& instruction_set,
                           ChoiceOrigin origin, const RaceVerdict* trial = nullptr);
/// The share of the limits that all phases and the product reach, where they were measured; the rates of the product
/// in any case.
std::string limit_summary(const PhaseFigures& figures);
/// "1a2b3c4d5e6f, tree changed".
std::string commit_text(const Provenance& provenance);

}  // namespace cg2d
