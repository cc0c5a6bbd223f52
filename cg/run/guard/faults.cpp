#include "cg/run/guard/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/matrix/problem.hpp"

namespace cg2d {
namespace {

constexpr int most_faults = 1'000'000;
constexpr int bits_per_byte = 8;

/// SplitMix64: 64 bits per call, the same on every machine.
class FaultStream {
 public:
  explicit FaultStream(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += golden_ratio_bits;
    return splitmix_bits(state_);
  }
  int below(int bound) { return static_cast<int>(next() % static_cast<std::uint64_t>(bound)); }

 private:
  std::uint64_t state_;
};

void flip_bit(std::span<std::byte> element, int bit) {
  element[static_cast<std::size_t>(bit / bits_per_byte)] ^= std::byte{1} << (bit % bits_per_byte);
}

/// An element of the arrays of one kind, taken as one.
struct ArrayElement {
  std::int64_t number = 0;
  std::span<std::byte> bytes{};
};

ArrayElement element_of(const std::vector<kernels::StoredArray>& arrays, kernels::ArrayKind kind,
                        std::uint64_t draw) {
  std::uint64_t count = 0;
  for (const auto& array : arrays) {
    if (array.kind == kind) count += array.bytes.size() / array.element_size;
  }
  if (count == 0) return {};
  auto rest = draw % count;
  for (const auto& array : arrays) {
    if (array.kind != kind) continue;
    const auto size = array.bytes.size() / array.element_size;
    if (rest < size)
      return {.number = static_cast<std::int64_t>(draw % count),
              .bytes = array.bytes.subspan(rest * array.element_size, array.element_size)};
    rest -= size;
  }
  return {};
}

}  // namespace

InjectOptions inject_options_from(const std::string& text) {
  const auto colon = text.find(':');
  const auto seed = number_from<std::uint64_t>(text.substr(0, colon));
  const auto count = colon == std::string::npos ? 1 : number_from<int>(text.substr(colon + 1)).value_or(0);
  if (!seed || count < 1 || count > most_faults)
    throw InputError(
        fmt::format("--inject {}: must be SEED or SEED:COUNT, a seed of 0 to {} and a count of 1 to {}", text,
                    ~std::uint64_t{0}, most_faults));
  return {.seed = *seed, .count = count};
}

std::string place_text(int rank, int outer_step, int product) {
  if (outer_step == of_a_solve) return fmt::format("rank {}, iteration {}", rank, product);
  return fmt::format("rank {}, outer iteration {}, product {}", rank, outer_step, product);
}

std::string_view target_name(const Fault& fault) {
  const bool is_solution = fault.outer_step == of_a_solve && fault.target == FaultTarget::z;
  return is_solution ? "x" : name_of(fault.target);
}

std::string describe(const Fault& fault) {
  const auto place = place_text(fault.rank, fault.outer_step, fault.product);
  const auto target = target_name(fault);
  if (!fault.is_made) return fmt::format("{}: {}, not made", place, target);
  if (fault.target == FaultTarget::rho) return fmt::format("{}: rho, bit {}", place, fault.bit);
  return fmt::format("{}: {}[{}], bit {}", place, target, fault.element, fault.bit);
}

namespace {

/// draw_place(stream, fault): its outer iteration and product.
template <typename DrawPlace>
std::vector<Fault> drawn_faults(const InjectOptions& options, int rank_count, const DrawPlace& draw_place) {
  FaultStream stream(options.seed);
  std::vector<Fault> faults(static_cast<std::size_t>(options.count));
  for (auto& fault : faults) {
    fault.rank = stream.below(rank_count);
    draw_place(stream, fault);
    fault.target = static_cast<FaultTarget>(stream.below(static_cast<int>(fault_target_names.size())));
    fault.draw = stream.next();
  }
  return faults;
}

void sort_by_time(std::vector<Fault>& faults) {
  std::ranges::stable_sort(faults, {},
                           [](const Fault& fault) { return std::tuple(fault.outer_step, fault.product); });
}

}  // namespace

std::vector<Fault> draw_faults(const InjectOptions& options, int rank_count, int outer_step_count) {
  auto faults = drawn_faults(options, rank_count, [&](FaultStream& stream, Fault& fault) {
    fault.outer_step = 1 + stream.below(outer_step_count);
    fault.product = 1 + stream.below(products_per_outer_step);
  });
  // The last product has no rho that is used.
  for (auto& fault : faults) {
    if (fault.target == FaultTarget::rho) fault.product = std::min(fault.product, cg_steps_per_solve);
  }
  sort_by_time(faults);
  return faults;
}

std::vector<Fault> draw_solve_faults(const InjectOptions& options, int rank_count, int most_iterations) {
  auto faults = drawn_faults(options, rank_count, [&](FaultStream& stream, Fault& fault) {
    // Any order of magnitude is as likely as any other.
    constexpr double one = 0x1p64;
    const double share = static_cast<double>(stream.next()) / one;
    const auto place = std::pow(static_cast<double>(most_iterations) + 1.0, share);
    fault.outer_step = of_a_solve;
    fault.product = std::clamp(static_cast<int>(place), 1, most_iterations);
  });
  sort_by_time(faults);
  return faults;
}

/// The low bits of a draw choose the bit, the others the element.
template <typename Flip>
void FaultInjector::for_due(FaultTarget target, const Moment& moment, const Flip& make) {
  for (auto& fault : faults_) {
    if (fault.is_made || fault.rank != rank_ || fault.target != target ||
        fault.outer_step != moment.outer_step || fault.product != moment.product)
      continue;
    constexpr std::uint64_t bits_of_choice = 8;
    make(fault, fault.draw >> bits_of_choice, static_cast<int>(fault.draw & ((1U << bits_of_choice) - 1U)));
  }
}

void FaultInjector::flip(FaultTarget target, const Moment& moment, std::span<double> first,
                         std::span<double> second) {
  for_due(target, moment, [&](Fault& fault, std::uint64_t place, int bit_choice) {
    const auto size = first.size() + second.size();
    if (size == 0) return;
    const auto element = static_cast<std::size_t>(place % size);
    double& number = element < first.size() ? first[element] : second[element - first.size()];
    fault.element = static_cast<std::int64_t>(element);
    fault.bit = bit_choice % (bits_per_byte * static_cast<int>(sizeof(double)));
    fault.is_made = true;
    flip_bit(std::as_writable_bytes(std::span(&number, 1)), fault.bit);
  });
}

void FaultInjector::flip(FaultTarget target, const Moment& moment, std::span<double> vector) {
  flip(target, moment, vector, {});
}

void FaultInjector::flip_matrix(const Moment& moment, BlockProduct& product, bool columns_are_checked) {
  for_due(FaultTarget::values, moment, [&](Fault& fault, std::uint64_t place, int bit_choice) {
    const auto element = element_of(product.stored_arrays(), kernels::ArrayKind::values, place);
    if (element.bytes.empty()) return;
    fault.element = element.number;
    fault.bit = bit_choice % (bits_per_byte * static_cast<int>(element.bytes.size()));
    fault.is_made = true;
    flip_bit(element.bytes, fault.bit);
  });
  for_due(FaultTarget::columns, moment, [&](Fault& fault, std::uint64_t place, int bit_choice) {
    const auto element = element_of(product.stored_arrays(), kernels::ArrayKind::columns, place);
    const int bit_count = bits_per_byte * static_cast<int>(element.bytes.size());
    for (int tried = 0; tried < bit_count && !fault.is_made; ++tried) {
      fault.element = element.number;
      fault.bit = (bit_choice + tried) % bit_count;
      flip_bit(element.bytes, fault.bit);
      fault.is_made = columns_are_checked || product.has_columns_in_range();
      if (!fault.is_made) flip_bit(element.bytes, fault.bit);
    }
  });
}

}  // namespace cg2d
