#pragma once

// The first lines of a report for people: what matters, in as many lines as one looks at.

#include <optional>
#include <string>

#include "cg/report/phase_table.hpp"
#include "cg/run/session_report.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/trial.hpp"

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
/// "sell, avx512 (requested)". trial: the verdict where a trial chose; nullptr else.
std::string kernel_summary(const Configuration& configuration, const std::string& instruction_set,
                           ChoiceOrigin origin, const RaceVerdict* trial = nullptr);
/// The share of the limits that all phases and the product reach, where they were measured; the rates of the product
/// in any case.
std::string limit_summary(const PhaseFigures& figures);

// The text after the summary, of a run or a solve.

/// Labelled lines: grid, transport, kernel and threads, with the trials that chose them. repeat: the one whose products count.
std::string choice_lines(const SessionReport& report, const RepeatReport& repeat, bool has_matrix = true);
/// Command and commit; empty where they are not known.
std::string command_lines(const SessionReport& report);
/// The phases, with the limits of the machine and the counted events where they were measured.
std::string figures_text(const PhaseFigures& figures, const TextDetail& detail);
/// The lines of features, and the warnings.
std::string closing_lines(const SessionReport& report);

}  // namespace cg2d
