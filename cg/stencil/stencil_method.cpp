#include "cg/stencil/stencil_method.hpp"

#include <array>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// In a line, a plane and all. MPI counts the numbers of a plane, zeros around its lines among them; bytes of all planes must be a number,
/// with much room.
constexpr std::array most_points{1e7, 1e8, 1e15};
constexpr comm::Extents most_extents{10'000'000, 10'000'000, 1'000'000'000};

}  // namespace

std::span<const StencilMethodRow> stencil_method_table() {
  static constexpr std::array rows{
      StencilMethodRow{.name = "heat",
                       .subject = "the heat equation (7 points)",
                       .vector_count = 1,
                       .has_residual = false,
                       .make = make_heat_method},
      StencilMethodRow{.name = "s-step-cg",
                       .subject =
                           "conjugate gradients in s-step form (7 points; not the benchmark's algorithm: "
                           "non-conforming)",
                       .vector_count = 3,
                       .has_residual = true,
                       .make = make_s_step_cg_method}};
  return rows;
}

std::unique_ptr<comm::Messages> plane_messages(comm::Endpoint& endpoint, int partner, std::span<double> sent,
                                               std::span<double> received, int64_t size_of_one) {
  const auto size = static_cast<size_t>(size_of_one);
  std::vector<comm::Message> sends;
  std::vector<comm::Message> receives;
  for (size_t begin = 0; begin < sent.size(); begin += size) {
    const auto from = sent.subspan(begin, size);
    const auto to = received.subspan(begin, size);
    sends.push_back({.partner = partner, .buffer = from, .ranges = comm::whole(from)});
    receives.push_back({.partner = partner, .buffer = to, .ranges = comm::whole(to)});
  }
  return endpoint.prepare(comm::Operation::halo, sends, receives);
}

comm::Extents shape_from(std::string_view text) {
  comm::Extents shape{};
  const auto extents = split_at(text, 'x');
  double points = 1.0;
  bool is_too_long = false;
  for (size_t k = 0; k < shape.size(); ++k) {
    const auto extent = number_from<int64_t>(k < extents.size() ? extents[k] : "");
    if (extents.size() != shape.size() || !extent || *extent < 1)
      throw InputError(
          "--shape {}: must be the points along x, y and z, at least 1 each, such as 512x512x512", text);
    shape[k] = *extent;
    points *= static_cast<double>(*extent);
    is_too_long = is_too_long || *extent > most_extents[k] || points > most_points[k];
  }
  if (is_too_long)
    throw InputError(
        "--shape {}: must have at most 100 million points in a plane (x and y), 10 million along x or y, "
        "1000 million along z, and 1e15 in all",
        text);
  return shape;
}

std::string shape_text(const comm::Extents& shape) {
  return fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]);
}

std::optional<int> block_from(std::string_view text) {
  if (text == "auto") return std::nullopt;
  const auto block = number_from<int>(text);
  if (!block || *block < 1)
    throw InputError("--temporal-block {}: must be auto, or a number of steps, at least 1", text);
  return block;
}

}  // namespace cg2d
