#include "comm/halo.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "comm/buffer.hpp"

namespace cg2d::comm {
namespace {

class SerialHalo final : public HaloExchange {
 public:
  SerialHalo(const DomainLayout& layout, const HaloOptions& options)
      : operand_(*options.memory, static_cast<size_t>(layout.size())) {}

  [[nodiscard]] std::span<double> operand() override { return operand_.span(); }
  void start() override {}
  void finish() override {}
  std::span<const HaloView> views() const override { return {}; }

 private:
  Buffer operand_;
};

}  // namespace

void pack_part(std::span<const double> operand, const Box& box, const Box& part, std::span<double> packed) {
  assert(std::ssize(packed) == part.size());
  const auto view = HaloView::of(part, operand.data(), box);
  const auto length = part.extent(0);
  double* target = packed.data();
  for (int64_t z = 0; z < part.extent(2); ++z) {
    const double* line = view.first + z * view.plane_stride;
    for (int64_t y = 0; y < part.extent(1); ++y, line += view.line_stride)
      target = std::copy_n(line, length, target);
  }
}

std::unique_ptr<HaloExchange> make_serial_halo(const DomainLayout& layout, const HaloOptions& options) {
  if (layout.grid().rank_count() != 1)
    throw std::invalid_argument("a serial halo is of one rank, the grid is " + layout.grid().name());
  return std::make_unique<SerialHalo>(layout, options);
}

}  // namespace cg2d::comm
