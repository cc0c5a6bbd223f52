#include "cg/stencil/plane_store.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/crc32c.hpp"

namespace cg2d {
namespace {

/// Planes are read and written where they are.
class MemoryStore final : public PlaneStore {
 public:
  MemoryStore(const PlaneLayout& layout, const comm::IndexRange& stored)
      : PlaneStore(stored), plane_size_(layout.size()), values_(written_zeros(plane_size_ * stored.size())) {}

  const double* next() override { return room(next_++); }
  double* room(int64_t number) override { return values_.data() + place(number) * plane_size_; }

 private:
  int64_t plane_size_;
  kernels::PageBuffer<double> values_;
};

/// Planes are read ahead and written behind while others are computed. Slots 0 ... depth-1 read, depth ... 2*depth-1 write: each plane has
/// those of its number modulo depth.
class FileStore final : public PlaneStore {
 public:
  FileStore(const PlaneLayout& layout, const StoreOptions& options)
      : PlaneStore(options.stored),
        plane_bytes_(layout.byte_count()),
        planes_at_once_(options.planes_at_once),
        depth_(store_depth(layout, options.planes_at_once)),
        file_(options.folder, FileCaching::direct, plane_bytes_ * options.stored.size()),
        buffers_(2 * static_cast<size_t>(depth_) * static_cast<size_t>(layout.size())),
        checksums_(static_cast<size_t>(options.stored.size())),
        written_places_(static_cast<size_t>(depth_)),
        reader_(options.reader->make({.descriptor = file_.descriptor(), .slot_count = 2 * depth_})) {}

  const double* next() override {
    const auto number = next_++;
    read_ahead();
    const Stopwatch stopwatch;
    const auto result = reader_->wait(slot_of(number));
    figures_.read_wait_s += stopwatch.seconds();
    try {
      require_intact(number, result);
    } catch (const RunError&) {  // once more
      start_reading(number);
      require_intact(number, reader_->wait(slot_of(number)));
    }
    figures_.read_bytes += plane_bytes_;
    return numbers(slot_of(number));
  }

  double* room(int64_t number) override {
    finish_slot(slot_of(number));
    return numbers(depth_ + slot_of(number));
  }

  void written(int64_t number) override {
    const int slot = depth_ + slot_of(number);
    checksums_[static_cast<size_t>(place(number))] = crc32c(bytes(slot));
    reader_->start({.slot = slot,
                    .position = place(number) * plane_bytes_,
                    .memory = bytes(slot),
                    .direction = PanelDirection::write});
    written_places_[static_cast<size_t>(slot_of(number))] = place(number);
  }

  void finish_writing() override {
    for (int slot = 0; slot < depth_; ++slot) finish_slot(slot);
  }

  bool is_direct() const override { return file_.is_direct(); }

 private:
  int slot_of(int64_t number) const { return static_cast<int>(number % depth_); }
  [[nodiscard]] std::span<std::byte> bytes(int slot) {
    const auto size = static_cast<size_t>(plane_bytes_);
    return std::as_writable_bytes(buffers_.span()).subspan(static_cast<size_t>(slot) * size, size);
  }
  [[nodiscard]] double* numbers(int slot) {
    return buffers_.data() + slot * (plane_bytes_ / int64_t{sizeof(double)});
  }

  void restart() override {
    started_ = planes_.begin;
    read_ahead();
  }
  /// Into the buffers of planes that are no longer valid when the one before next_ has been asked for.
  void read_ahead() {
    const auto first_valid = std::max(next_ - planes_at_once_, planes_.begin);
    for (; started_ < std::min(first_valid + depth_, planes_.end); ++started_) start_reading(started_);
  }
  void start_reading(int64_t number) {
    reader_->start({.slot = slot_of(number),
                    .position = place(number) * plane_bytes_,
                    .memory = bytes(slot_of(number))});
  }

  /// Waits until the last plane that was written by that slot is in the file.
  void finish_slot(int slot) {
    const auto written = std::exchange(written_places_[static_cast<size_t>(slot)], std::nullopt);
    if (!written) return;
    const Stopwatch stopwatch;
    const auto result = reader_->wait(depth_ + slot);
    figures_.write_wait_s += stopwatch.seconds();
    require_moved(*written, "written", result);
    figures_.written_bytes += plane_bytes_;
  }

  /// Throws where a plane that was read is not what was written.
  void require_intact(int64_t number, const PanelResult& result) {
    require_moved(place(number), "read", result);
    if (crc32c(bytes(slot_of(number))) != checksums_[static_cast<size_t>(place(number))])
      throw RunError(ExitCode::bad_data, "{}: found damaged data, expected what was written there",
                     name_of(place(number)));
  }
  /// Throws where the device has not read or written all of a plane.
  void require_moved(int64_t stored_place, std::string_view action, const PanelResult& result) const {
    if (result.error == 0 && result.byte_count == plane_bytes_) return;
    throw RunError(ExitCode::cannot_write, "{} cannot be {}: {}", name_of(stored_place), action,
                   result.error != 0 ? std::strerror(result.error)
                                     : fmt::format("{} of {} bytes", result.byte_count, plane_bytes_));
  }

  std::string name_of(int64_t stored_place) const {
    return fmt::format("--out-of-core {}: plane {} of a rank's file, at byte {},", file_.path(), stored_place,
                       stored_place * plane_bytes_);
  }

  int64_t plane_bytes_;
  int planes_at_once_;
  int depth_;
  ScratchFile file_;
  kernels::PageBuffer<double> buffers_;
  std::vector<uint32_t> checksums_;                     // CRC-32C of what was written last, by place
  std::vector<std::optional<int64_t>> written_places_;  // by slot: under way
  int64_t started_ = 0;              // planes of the pass below this one are read, or under way
  std::unique_ptr<PanelIo> reader_;  // the last member: its requests end before their buffers
};

}  // namespace

int store_depth(const PlaneLayout& layout, int planes_at_once) {
  constexpr int64_t wanted_bytes = int64_t{8} << 20;
  constexpr int64_t fewest = 4;
  constexpr int64_t most = 8;  // the reader "threads" has a thread for each buffer
  const auto under_way = static_cast<int>(std::clamp(wanted_bytes / layout.byte_count(), fewest, most));
  return planes_at_once + std::max(under_way, planes_at_once);
}

int64_t store_buffer_bytes(const PlaneLayout& layout, int planes_at_once) {
  return 2 * int64_t{store_depth(layout, planes_at_once)} * layout.byte_count();
}

std::unique_ptr<PlaneStore> make_store(const PlaneLayout& layout, const StoreOptions& options) {
  if (options.folder.empty()) return std::make_unique<MemoryStore>(layout, options.stored);
  return std::make_unique<FileStore>(layout, options);
}

}  // namespace cg2d
