#pragma once

// Where the planes of a rank's slab are between passes: the interface, in memory and in a file. No MPI.

#include <cstdint>
#include <memory>
#include <string>

#include "cg/base/interface.hpp"
#include "cg/panels/panel_io.hpp"
#include "cg/stencil/plane_layout.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// The bytes that a store has moved, and how long its user waited for that.
struct StoreFigures {
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  double read_wait_s = 0.0;
  double write_wait_s = 0.0;

  [[nodiscard]] double wait_s() const { return read_wait_s + write_wait_s; }
  /// Since `before`.
  friend StoreFigures operator-(const StoreFigures& after, const StoreFigures& before) {
    return {.read_bytes = after.read_bytes - before.read_bytes,
            .written_bytes = after.written_bytes - before.written_bytes,
            .read_wait_s = after.read_wait_s - before.read_wait_s,
            .write_wait_s = after.write_wait_s - before.write_wait_s};
  }
};

/// The planes that a pass reads, in its order.
struct PlaneSequence {
  comm::IndexRange planes{};
  bool is_backward = false;

  [[nodiscard]] std::int64_t size() const { return planes.size(); }
  [[nodiscard]] std::int64_t plane(std::int64_t index) const {
    return is_backward ? planes.end - 1 - index : planes.begin + index;
  }
};

/// Planes 0 ... plane_count-1 of a slab. A pass reads some of them in this order or backwards, and may write planes in the same order, each once
/// it has been read, and planes that it does not read.
/// Everything throws RunError where a device or its data fail; after that the store is only destroyed.
class PlaneStore : public Interface {
 public:
  /// A pass begins that reads these planes, all of them: the first ones may be read ahead from now on. Everything that was written before is in
  /// the store: finish_writing().
  virtual void begin_reading(const PlaneSequence& planes) = 0;
  /// The next plane of the pass; valid until planes_at_once more have been asked for.
  virtual const double* next() = 0;
  /// Memory for the new plane z, with zeros around its lines; valid until written(). At most planes_at_once are under way.
  virtual double* room(std::int64_t z) = 0;
  /// Plane z is complete.
  virtual void written(std::int64_t z) = 0;
  /// Returns when all planes that were written are in the store.
  virtual void finish_writing() = 0;
  [[nodiscard]] virtual const StoreFigures& figures() const = 0;
  /// Whether it goes past the system's cache to a device.
  [[nodiscard]] virtual bool is_direct() const { return false; }
  /// PanelIo::refusal() of its reader.
  [[nodiscard]] virtual int reader_refusal() const { return 0; }
};

/// All planes in memory. Throws std::bad_alloc.
std::unique_ptr<PlaneStore> make_memory_store(const PlaneLayout& layout, std::int64_t plane_count);

/// The slab's file.
struct StoreFileOptions {
  std::string folder;
  std::int64_t plane_count = 0;
  int planes_at_once = 1;  ///< read, and written, that its user works on
  const PanelIoRow* reader = &usual_panel_io();
};

/// Planes for which a store in a file has buffers to read, and as many to write: those that its user works on, and as many or more that are
/// under way, so that the device is busy meanwhile.
int store_depth(const PlaneLayout& layout, int planes_at_once);
/// Memory of these buffers.
std::int64_t store_buffer_bytes(const PlaneLayout& layout, int planes_at_once);

/// All planes in one unlinked temporary file in the folder, which is gone with the store or the process, whatever ends it. It is read and
/// written past the system's cache where the file system can do that. A plane is checked against its CRC-32C each time that it has been
/// read, and read once more where it fails. Throws RunError: cannot_create where the folder or the room on its device will not do (73);
/// later cannot_write for an error of the device (74), bad_data for damaged planes (65).
std::unique_ptr<PlaneStore> make_file_store(const PlaneLayout& layout, const StoreFileOptions& options);

}  // namespace cg2d
