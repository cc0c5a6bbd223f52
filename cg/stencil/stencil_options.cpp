#include "cg/stencil/stencil_options.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// Bytes of all planes must be a number, with much room.
constexpr double most_points = 1e15;
/// MPI counts the numbers of a plane, zeros around its lines among them.
constexpr double most_plane_points = 1e8;
constexpr comm::Extents most_extents{10'000'000, 10'000'000, 1'000'000'000};

[[noreturn]] void refuse_shape(std::string_view text) {
  throw InputError(fmt::format(
      "--shape {}: must be the points along x, y and z, at least 1 each, such as 512x512x512", text));
}

}  // namespace

comm::Extents shape_from(std::string_view text) {
  comm::Extents shape{};
  auto rest = text;
  double points = 1.0;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool is_last = k + 1 == shape.size();
    const auto end = is_last ? rest.size() : rest.find('x');
    if (end == std::string_view::npos) refuse_shape(text);
    const auto extent = number_from<std::int64_t>(rest.substr(0, end));
    if (!extent || *extent < 1) refuse_shape(text);
    shape[k] = *extent;
    points *= static_cast<double>(*extent);
    rest.remove_prefix(is_last ? end : end + 1);
  }
  const auto plane_points = static_cast<double>(shape[0]) * static_cast<double>(shape[1]);
  bool is_too_long = points > most_points || plane_points > most_plane_points;
  for (std::size_t k = 0; k < shape.size(); ++k) is_too_long = is_too_long || shape[k] > most_extents[k];
  if (is_too_long)
    throw InputError(fmt::format(
        "--shape {}: must have at most 100 million points in a plane (x and y), 10 million along x or y, "
        "1000 million along z, and 1e15 in all",
        text));
  return shape;
}

std::string shape_text(const comm::Extents& shape) {
  return fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]);
}

std::optional<int> block_from(std::string_view text) {
  if (text == "auto") return std::nullopt;
  const auto block = number_from<int>(text);
  if (!block || *block < 1)
    throw InputError(
        fmt::format("--temporal-block {}: must be auto, or a number of steps, at least 1", text));
  return block;
}

}  // namespace cg2d
