#include "cg/run/guard/guard_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/files/permutation.hpp"

namespace cg2d {
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

std::string_view target_name(const Fault& fault) {
  const bool is_solution = fault.place.outer_step == of_a_solve && fault.target == FaultTarget::z;
  return is_solution ? "x" : name_of(fault.target);
}

std::string describe(const Fault& fault) {
  const auto place = describe(fault.place);
  const auto target = target_name(fault);
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
    fault.target = static_cast<FaultTarget>(below(static_cast<int>(fault_target_names.size())));
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
