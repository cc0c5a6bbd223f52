#include "cg/stencil/stencil_method.hpp"

#include <array>

namespace cg2d {

PlaneMessages::PlaneMessages(const comm::Endpoint& endpoint, int partner, std::span<double> sent,
                             std::span<double> received, std::int64_t size_of_one) {
  const auto size = static_cast<std::size_t>(size_of_one);
  for (std::size_t begin = 0; begin < sent.size(); begin += size) {
    const auto from = sent.subspan(begin, size);
    const auto to = received.subspan(begin, size);
    sends.push_back(
        comm::Transfer::send(endpoint.handle(), from, comm::whole(from), partner, comm::Operation::halo));
    receives.push_back(
        comm::Transfer::receive(endpoint.handle(), to, comm::whole(to), partner, comm::Operation::halo));
  }
}

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

}  // namespace cg2d
