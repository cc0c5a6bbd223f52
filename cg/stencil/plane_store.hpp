#pragma once

// Where the planes of a rank's slab are between passes: the interface, in memory and in a file. No MPI.

#include "cg/panels/panel_io.hpp"
#include "cg/stencil/plane_layout.hpp"

namespace cg2d {

/// The bytes that a store has moved, and how long its user waited for that.
struct StoreFigures {
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
  double read_wait_s = 0.0;
  double write_wait_s = 0.0;

  double wait_s() const { return read_wait_s + write_wait_s; }
};

/// Planes of a slab. A pass reads some of them in the order of their numbers, and may write planes in the same order, each once
/// it has been read, and planes that it does not read.
/// Everything throws RunError where a device or its data fail; after that the store is only destroyed.
class PlaneStore : public Interface {
 public:
  /// stored: the planes of the domain for which there is room.
  explicit PlaneStore(const comm::IndexRange& stored) : stored_(stored) {}

  const comm::IndexRange& stored() const { return stored_; }
  /// A pass begins that reads these planes, all of them: the first ones may be read ahead from now on. Planes are numbered in the direction of
  /// the pass until the next one; before the first one upwards. Everything that was written before is in the store: finish_writing().
  void begin_reading(const comm::IndexRange& planes, const Sweep& sweep = {}) {
    sweep_ = sweep;
    planes_ = planes;
    next_ = planes.begin;
    restart();
  }
  /// The next plane of the pass; valid until planes_at_once more have been asked for.
  virtual const double* next() = 0;
  /// Memory for the new plane `number`, with zeros around its lines; valid until written(). At most planes_at_once are under way.
  virtual double* room(int64_t number) = 0;
  /// The plane is complete.
  virtual void written(int64_t /*number*/) {}
  /// Returns when all planes that were written are in the store.
  virtual void finish_writing() {}
  /// The figures since the last call.
  StoreFigures take_figures() { return std::exchange(figures_, {}); }
  /// Whether it goes past the system's cache to a device.
  virtual bool is_direct() const { return false; }

 protected:
  /// A pass begins.
  virtual void restart() {}
  /// The place of a plane among those of the store.
  int64_t place(int64_t number) const { return sweep_.number_of(number) - stored_.begin; }

  comm::IndexRange planes_{};  // that the pass reads
  int64_t next_ = 0;           // of them
  StoreFigures figures_;

 private:
  comm::IndexRange stored_;
  Sweep sweep_;
};

/// Where planes are stored.
struct StoreOptions {
  comm::IndexRange stored{};
  std::string folder{};    ///< of the file; empty: in memory
  int planes_at_once = 1;  ///< read, and written, that its user works on
  const PanelIoRow* reader = &usual_panel_io();
};

/// Planes for which a store in a file has buffers to read, and as many to write: those that its user works on, and as many or more that are
/// under way, so that the device is busy meanwhile.
int store_depth(const PlaneLayout& layout, int planes_at_once);
/// Memory of these buffers.
int64_t store_buffer_bytes(const PlaneLayout& layout, int planes_at_once);

/// All planes in memory, or in one unlinked temporary file in the folder, which is gone with the store or the process, whatever ends it. It is
/// read and written past the system's cache where the file system can do that. A plane is checked against its CRC-32C each time that it has
/// been read, and read once more where it fails. Throws std::bad_alloc; RunError: cannot_create where the folder or the room on its device
/// will not do (73); later cannot_write for an error of the device (74), bad_data for damaged planes (65).
std::unique_ptr<PlaneStore> make_store(const PlaneLayout& layout, const StoreOptions& options);

}  // namespace cg2d
