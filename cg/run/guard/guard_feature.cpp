// --guard and --inject: soft errors are found, and what they have spoiled is made again. The options that they do not go with, the sections of
// a result, and its lines; and the faults that are made on purpose.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/guard/guard_report.hpp"

namespace cg2d {

std::string describe(const Detection& found) {
  static constexpr std::array<std::string_view, guard_check_count> texts{
      "a stored column number is out of range", "the sum of q differs from that of its columns",
      "alpha^2 ||q||^2 differs from (1 + beta) rho", "x - A z differs from r",
      "the CRC-32C of the matrix block has changed"};
  const bool has_size = found.check != GuardCheck::column_range && found.check != GuardCheck::matrix_bytes;
  const bool is_of_solve = found.check == GuardCheck::residual && found.place.outer_step == of_a_solve;
  return fmt::format(
      "{}: {}{} ({})", describe(found.place),
      is_of_solve ? "b - A x differs from r" : texts[static_cast<size_t>(found.check)],
      has_size ? fmt::format(" by {:.3g}, tolerance {:.3g}", found.error, found.tolerance) : "",
      name_of(found.check));
}

void resolve_guard(const AskedWork& asked) {
  const auto option = asked.options.features.guard.checks ? "--guard" : "--inject";
  if (asked.system == nullptr) return;
  require_matrix(asked, option);
  require_classic_form(asked, option);
  refuse_if(!find_preconditioner(asked.system->preconditioner)->is_diagonal, option,
            "not for --preconditioner {}; take {}", asked.system->preconditioner,
            names_of_diagonal_preconditioners());
  refuse_if(asked.options.configuration.is_reproducible, option, "does not go with --reproducible on");
  refuse_if(asked.options.features.checkpoint.is_used(), option,
            "does not go with --checkpoint and --restart");
}

namespace {

/// The place of a detection or of a fault. A solve has no outer iterations: its place is an iteration.
void describe_place(Members& m, SolvePlace& place, bool of_solve) {
  m("rank", place.rank, at_least(0));
  if (of_solve) {
    m("iteration", place.product, at_least(0, "From 1; of a detection: the last one before it."));
    place.outer_step = of_a_solve;
  } else {
    m("outer_step", place.outer_step, at_least(0, "From 1; 0 is the untimed one."));
    m("product", place.product,
      at_least(0, "Of the outer iteration, from 1: the number of the CG step, or 26 for the residual."));
  }
}

void describe_fault(Members& m, Fault& fault, bool of_solve) {
  describe_place(m, fault.place, of_solve);
  m("target", fault.target, meaning("An array; of a solve x in place of z."));
  m("made", fault.is_made, meaning("False where the run did not come to it, or had no such element."));
  m("element", fault.element, at_least(0, "Of the array of the rank, from 0."));
  m("bit", fault.bit, at_least(0, "Of the element, from the lowest one."));
}

void describe_checks(Members& m, GuardReport& guard, bool of_solve) {
  m.object("checks", meaning("Those of all ranks together, what is not timed included."), [&] {
    for (size_t check = 0; check < guard_check_count; ++check)
      m.object(guard_checks[check].name, [&] {
        m("count", guard.check_counts[check], at_least(0));
        m("largest_ratio", guard.largest_ratios[check],
          at_least(0, "Of an error to its tolerance, where it held; 0 for checks that say only yes or no."));
      });
  });
  m.list("detections", guard.detections, meaning("The first one of each attempt that was given up."),
         [&](Detection& found, size_t /*index*/) {
           describe_place(m, found.place, of_solve);
           m("check", found.check);
           m("error", found.error);
           m("tolerance", found.tolerance);
         });
  m("rollbacks", guard.rollback_count,
    at_least(0, "Attempts at outer iterations, or at parts of the solve, that were made again."));
  m("time_s", guard.time_s,
    at_least(0, "Of checks in all that is timed, on the rank where they took longest."));
  m("time_share", guard.time_share,
    at_least(0, "Of the time of the solve, or of all finished repetitions; 0 without one."));
}

}  // namespace

/// The members of a result: guard where there were checks, injected where faults were made.
void describe_guard(Members& m, GuardReport& guard, WorkKind kind) {
  const bool of_solve = kind == WorkKind::solve;
  m.object_if(guard.options.checks, "guard",
              meaning("Only with --guard, of work that came to its iterations."),
              [&] { describe_checks(m, guard, of_solve); });
  m.object_if(
      guard.options.inject, "injected", meaning("Only with --inject, of work that came to its iterations."),
      [&](InjectOptions& inject) {
        m("seed", inject.seed, at_least(0));
        m.list("flips", guard.faults,
               meaning("As drawn, in the order of their times; none where only the untimed iteration ran."),
               [&](Fault& fault, size_t /*index*/) { describe_fault(m, fault, of_solve); });
      });
}

std::string text_of(const GuardReport& guard) {
  if (!guard.options.is_used()) return {};
  std::string text = "\n";
  constexpr size_t most_lines = 20;
  if (const auto& inject = guard.options.inject) {
    const auto made = std::ranges::count_if(guard.faults, &Fault::is_made);
    text += fmt::format(" Injected        = {} of {} (seed {})\n", made,
                        format_count(std::ssize(guard.faults), "bit flip"), inject->seed);
    for (size_t k = 0; k < std::min(guard.faults.size(), most_lines); ++k)
      text += fmt::format("   {}\n", describe(guard.faults[k]));
  }
  if (!guard.options.checks) return text;
  const auto& counts = guard.check_counts;
  text += fmt::format(" Guard           = {}, {}, {}",
                      format_count(std::accumulate(counts.begin(), counts.end(), int64_t{0}), "check"),
                      format_count(std::ssize(guard.detections), "detection"),
                      format_count(guard.rollback_count, "rollback"));
  if (guard.time_share > 0.0) text += fmt::format(", {:.2f} % of the time", 100.0 * guard.time_share);
  text += '\n';
  for (size_t k = 0; k < std::min(guard.detections.size(), most_lines); ++k)
    text += fmt::format("   {}\n", describe(guard.detections[k]));
  return text;
}

// ---------------------------------------------------------------- faults on purpose

namespace {

constexpr int most_faults = 1'000'000;
constexpr int bits_per_byte = 8;

void flip_bit(std::span<std::byte> element, int bit) {
  element[static_cast<size_t>(bit / bits_per_byte)] ^= std::byte{1} << (bit % bits_per_byte);
}

/// An element of the arrays of one kind, taken as one.
struct ArrayElement {
  int64_t number = 0;
  std::span<std::byte> bytes{};
};

ArrayElement element_of(const std::vector<kernels::StoredArray>& arrays, kernels::ArrayKind kind,
                        uint64_t draw) {
  const auto size_of = [&](const kernels::StoredArray& array) {
    return array.kind == kind ? array.bytes.size() / array.element_size : 0;
  };
  uint64_t count = 0;
  for (const auto& array : arrays) count += size_of(array);
  if (count == 0) return {};
  const auto number = draw % count;
  auto rest = number;
  auto array = arrays.begin();
  for (; rest >= size_of(*array); ++array) rest -= size_of(*array);
  return {.number = static_cast<int64_t>(number),
          .bytes = array->bytes.subspan(rest * array->element_size, array->element_size)};
}

}  // namespace

InjectOptions inject_options_from(const std::string& text) {
  const auto colon = text.find(':');
  const auto seed = number_from<uint64_t>(text.substr(0, colon));
  const auto count = colon == std::string::npos ? 1 : number_from<int>(text.substr(colon + 1)).value_or(0);
  if (!seed || count < 1 || count > most_faults)
    throw InputError("--inject {}: must be SEED or SEED:COUNT, a seed of 0 to {} and a count of 1 to {}",
                     text, ~uint64_t{0}, most_faults);
  return {.seed = *seed, .count = count};
}

std::string describe(const SolvePlace& place) {
  if (place.outer_step == of_a_solve) return fmt::format("rank {}, iteration {}", place.rank, place.product);
  return fmt::format("rank {}, outer iteration {}, product {}", place.rank, place.outer_step, place.product);
}

std::string describe(const Fault& fault) {
  const auto place = describe(fault.place);
  const auto target = name_in(words_of(fault.target), fault.target);
  if (!fault.is_made) return fmt::format("{}: {}, not made", place, target);
  if (fault.target == FaultTarget::rho) return fmt::format("{}: rho, bit {}", place, fault.bit);
  return fmt::format("{}: {}[{}], bit {}", place, target, fault.element, fault.bit);
}

std::vector<Fault> draw_faults(const InjectOptions& options, int rank_count, int outer_step_count,
                               int product_count) {
  // SplitMix64: the same on every machine.
  auto next = [state = options.seed]() mutable { return splitmix_bits(state += golden_ratio_bits); };
  const auto below = [&](int bound) { return static_cast<int>(next() % static_cast<uint64_t>(bound)); };
  const bool are_of_a_solve = outer_step_count == of_a_solve;
  std::vector<Fault> faults(static_cast<size_t>(options.count));
  for (auto& fault : faults) {
    auto& place = fault.place;
    place.rank = below(rank_count);
    if (are_of_a_solve) {
      // Any order of magnitude is as likely as any other.
      const double share = static_cast<double>(next()) / 0x1p64;
      const double drawn = std::pow(product_count + 1.0, share);
      place.outer_step = of_a_solve;
      place.product = std::clamp(static_cast<int>(drawn), 1, product_count);
    } else {
      place.outer_step = 1 + below(outer_step_count);
      place.product = 1 + below(product_count);
    }
    fault.target = static_cast<FaultTarget>(below(static_cast<int>(FaultTarget::x)));
    if (are_of_a_solve && fault.target == FaultTarget::z) fault.target = FaultTarget::x;
    fault.draw = next();
    // The product for the residual has no rho that is used.
    if (fault.target == FaultTarget::rho && !are_of_a_solve)
      place.product = std::min(place.product, product_count - 1);
  }
  std::ranges::stable_sort(
      faults, {}, [](const Fault& fault) { return std::pair(fault.place.outer_step, fault.place.product); });
  return faults;
}

void make_faults(std::span<Fault> faults, FaultTarget target, const SolvePlace& at,
                 const std::vector<kernels::StoredArray>& arrays, const std::function<bool()>& is_sound) {
  const auto kind = target == FaultTarget::columns ? kernels::ArrayKind::columns : kernels::ArrayKind::values;
  for (auto& fault : faults) {
    if (fault.is_made || fault.target != target || fault.place != at) continue;
    // The low bits of a draw choose the bit, the others the element.
    constexpr uint64_t bits_of_choice = 8;
    const auto element = element_of(arrays, kind, fault.draw >> bits_of_choice);
    const auto first_bit = static_cast<int>(fault.draw & ((1U << bits_of_choice) - 1U));
    const int bit_count = bits_per_byte * static_cast<int>(element.bytes.size());
    for (int tried = 0; tried < bit_count && !fault.is_made; ++tried) {
      fault.element = element.number;
      fault.bit = (first_bit + tried) % bit_count;
      flip_bit(element.bytes, fault.bit);
      fault.is_made = is_sound();
      if (!fault.is_made) flip_bit(element.bytes, fault.bit);
    }
  }
}

}  // namespace cg2d
