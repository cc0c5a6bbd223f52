// The slab in memory: planes are read and written where they are.

#include <algorithm>
#include <memory>

#include "cg/stencil/plane_store.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

class MemoryStore final : public PlaneStore {
 public:
  MemoryStore(const PlaneLayout& layout, std::int64_t plane_count)
      : plane_size_(layout.size()),
        planes_(static_cast<std::size_t>(plane_size_) * static_cast<std::size_t>(plane_count)) {
    std::ranges::fill(planes_.span(), 0.0);  // the system's part of it belongs to no pass
  }

  void begin_reading(const PlaneSequence& planes) override {
    sequence_ = planes;
    next_ = 0;
  }
  const double* next() override { return room(sequence_.plane(next_++)); }
  double* room(std::int64_t z) override { return planes_.data() + z * plane_size_; }
  void written(std::int64_t /*z*/) override {}
  void finish_writing() override {}
  [[nodiscard]] const StoreFigures& figures() const override { return figures_; }

 private:
  std::int64_t plane_size_;
  kernels::PageBuffer<double> planes_;
  PlaneSequence sequence_;
  std::int64_t next_ = 0;
  StoreFigures figures_;
};

}  // namespace

std::unique_ptr<PlaneStore> make_memory_store(const PlaneLayout& layout, std::int64_t plane_count) {
  return std::make_unique<MemoryStore>(layout, plane_count);
}

}  // namespace cg2d
