// Planes in memory and in files: what was written is read, in passes that write behind what they read, and nothing is left in the folder.
// (Slabs, and every trouble with a device: stencil_run_test.cpp.)

#include "cg/stencil/plane_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "support/temporary_folder.hpp"

namespace cg2d::plane_store_test {
namespace {

constexpr int64_t plane_count = 41;

double value_of(int64_t z, int pass) { return static_cast<double>(1000 * pass + z) + 0.25; }

void write_all(PlaneStore& store, const PlaneLayout& layout) {
  for (int64_t z = 0; z < plane_count; ++z) {
    std::fill_n(store.room(z) + layout.line(0), layout.line_length, value_of(z, 0));
    store.written(z);
  }
  store.finish_writing();
}

constexpr comm::IndexRange all_planes{.begin = 0, .end = plane_count};

/// Everything has been moved when start() returns: what is read into a plane in use is there at once.
class EagerIo final : public PanelIo {
 public:
  explicit EagerIo(const PanelIoSetup& setup) : inner_(find_panel_io("threads")->make(setup)) {}

  void start(const PanelRequest& request) override {
    inner_->start(request);
    inner_->wait(request.slot);
  }
  PanelResult wait(int slot) override { return inner_->wait(slot); }

 private:
  std::unique_ptr<PanelIo> inner_;
};

/// Reads all planes, odd passes forward and even ones backward, and writes each `distance` planes behind. Returns whether every plane was the
/// one of the pass before.
bool make_pass(PlaneStore& store, const PlaneLayout& layout, int pass, int64_t distance) {
  bool is_right = true;
  const Sweep sweep{.domain_planes = plane_count, .is_downward = pass % 2 == 0};
  store.begin_reading(all_planes, sweep);
  for (int64_t index = 0; index < plane_count + distance; ++index) {
    if (index < plane_count) {
      const double* const plane = store.next();
      is_right = is_right && plane[layout.line(0)] == value_of(sweep.number_of(index), pass - 1) &&
                 plane[layout.line(0) + layout.line_length] == 0.0 && plane[layout.line(0) - 1] == 0.0;
    }
    if (index < distance) continue;
    const auto number = index - distance;
    std::fill_n(store.room(number) + layout.line(0), layout.line_length,
                value_of(sweep.number_of(number), pass));
    store.written(number);
  }
  store.finish_writing();
  return is_right;
}

TEST(PlaneStoreTest, PassesReadWhatTheOneBeforeHasWritten) {
  for (const auto& shape : {comm::Extents{3, 2, plane_count}, comm::Extents{700, 60, plane_count}}) {
    const PlaneLayout layout(shape);
    const auto expect_right = [&](PlaneStore& store) {
      write_all(store, layout);
      for (int pass = 1; pass <= 4; ++pass)
        EXPECT_TRUE(make_pass(store, layout, pass, 1 + 5 * pass % 17)) << pass;
    };
    expect_right(*make_store(layout, {.stored = all_planes}));
    for (const auto& row : panel_io_table()) {
      if (!row.why_unavailable().empty()) continue;
      SCOPED_TRACE(row.name);
      const test::TemporaryFolder folder;
      const auto store = make_store(layout, {.stored = all_planes, .folder = folder.path(), .reader = &row});
      expect_right(*store);
      const auto figures = store->take_figures();
      EXPECT_EQ(figures.read_bytes, 4 * plane_count * layout.byte_count());
      EXPECT_EQ(figures.written_bytes, 5 * plane_count * layout.byte_count());
      EXPECT_EQ(store->take_figures().read_bytes, 0);
      EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the file has a name";
    }
  }
}

TEST(PlaneStoreTest, SeveralPlanesAreValidAtOnce) {
  const PlaneLayout layout({700, 60, plane_count});
  const PanelIoRow eager{.name = "eager", .make = [](const PanelIoSetup& setup) -> std::unique_ptr<PanelIo> {
                           return std::make_unique<EagerIo>(setup);
                         }};
  // 1 and 3 with the usual reader, too.
  for (const auto& [at_once, reader] : {std::pair{1, &usual_panel_io()},
                                        {3, &usual_panel_io()},
                                        {1, &eager},
                                        {3, &eager},
                                        {8, &eager},
                                        {11, &eager}}) {
    const test::TemporaryFolder folder;
    const auto store = make_store(
        layout, {.stored = all_planes, .folder = folder.path(), .planes_at_once = at_once, .reader = reader});
    write_all(*store, layout);
    for (int pass = 1; pass <= 3; ++pass) {
      store->begin_reading(all_planes);
      for (int64_t first = 0; first < plane_count; first += at_once) {
        const auto count = std::min<int64_t>(at_once, plane_count - first);
        std::vector<const double*> planes;
        std::vector<double*> rooms;
        for (int64_t k = 0; k < count; ++k) {
          planes.push_back(store->next());
          rooms.push_back(store->room(first + k));
        }
        for (int64_t k = 0; k < count; ++k) {
          const auto index = static_cast<size_t>(k);
          EXPECT_EQ(planes[index][layout.line(7)], pass == 1 ? 0.0 : value_of(first + k, pass - 1));
          std::fill_n(rooms[index] + layout.line(7), layout.line_length, value_of(first + k, pass));
        }
        for (int64_t k = 0; k < count; ++k) store->written(first + k);
      }
      store->finish_writing();
    }
  }
}

TEST(PlaneStoreTest, APassMayReadSomePlanesOnly) {
  const PlaneLayout layout({9, 9, plane_count});
  const test::TemporaryFolder folder;
  const auto store = make_store(layout, {.stored = all_planes, .folder = folder.path()});
  write_all(*store, layout);
  for (const bool is_downward : {false, true}) {
    for (const auto& planes : {comm::IndexRange{.begin = 0, .end = 1},
                               {.begin = 2, .end = 5},
                               {.begin = 20, .end = plane_count}}) {
      const Sweep sweep{.domain_planes = plane_count, .is_downward = is_downward};
      store->begin_reading(planes, sweep);
      for (auto number = planes.begin; number < planes.end; ++number)
        EXPECT_EQ(store->next()[layout.line(0)], value_of(sweep.number_of(number), 0));
    }
  }
  EXPECT_TRUE(make_pass(*store, layout, 1, 2));
}

}  // namespace
}  // namespace cg2d::plane_store_test
