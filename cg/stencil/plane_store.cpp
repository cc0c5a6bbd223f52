#include "cg/stencil/plane_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

/// Planes are read and written where they are.
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

/// Planes are read ahead and written behind while others are computed. Slots 0 ... depth-1 read, depth ... 2*depth-1 write. The planes of a pass take the former by turns; plane z is written by slot depth + z modulo
/// depth.
class FileStore final : public PlaneStore {
 public:
  FileStore(const PlaneLayout& layout, const StoreFileOptions& options)
      : plane_bytes_(layout.byte_count()),
        planes_at_once_(options.planes_at_once),
        depth_(store_depth(layout, options.planes_at_once)),
        file_(options.folder, FileCaching::direct, plane_bytes_ * options.plane_count),
        buffers_(2 * static_cast<std::size_t>(depth_) * static_cast<std::size_t>(layout.size())),
        checksums_(static_cast<std::size_t>(options.plane_count)),
        written_planes_(static_cast<std::size_t>(depth_)),
        reader_(options.reader->make({.descriptor = file_.descriptor(),
                                      .slot_count = 2 * depth_,
                                      .buffers = std::as_writable_bytes(buffers_.span())})) {}

  void begin_reading(const PlaneSequence& planes) override {
    next_ = 0;
    started_ = 0;
    sequence_ = planes;
    read_ahead();
  }

  const double* next() override {
    const auto index = next_++;
    read_ahead();
    const Stopwatch stopwatch;
    const auto result = reader_->wait(slot_of(index));
    figures_.read_wait_s += stopwatch.seconds();
    if (trouble_of(index, result)) {
      start_reading(index);
      if (const auto trouble = trouble_of(index, reader_->wait(slot_of(index)))) throw RunError(*trouble);
    }
    figures_.read_bytes += plane_bytes_;
    return numbers(slot_of(index));
  }

  double* room(std::int64_t z) override {
    finish_slot(z);
    return numbers(slot_to_write(z));
  }

  void written(std::int64_t z) override {
    const int slot = slot_to_write(z);
    checksums_[static_cast<std::size_t>(z)] = crc32c(bytes(slot));
    reader_->start({.slot = slot,
                    .position = z * plane_bytes_,
                    .memory = bytes(slot),
                    .direction = PanelDirection::write});
    written_planes_[static_cast<std::size_t>(z % depth_)] = z;
  }

  void finish_writing() override {
    for (std::int64_t z = 0; z < depth_; ++z) finish_slot(z);
  }

  [[nodiscard]] const StoreFigures& figures() const override { return figures_; }
  [[nodiscard]] bool is_direct() const override { return file_.is_direct(); }
  [[nodiscard]] int reader_refusal() const override { return reader_->refusal(); }

 private:
  /// The slot of a plane by its place in the pass, or by its number.
  [[nodiscard]] int slot_of(std::int64_t index) const { return static_cast<int>(index % depth_); }
  [[nodiscard]] int slot_to_write(std::int64_t z) const { return depth_ + slot_of(z); }
  [[nodiscard]] std::span<std::byte> bytes(int slot) {
    const auto size = static_cast<std::size_t>(plane_bytes_);
    return std::as_writable_bytes(buffers_.span()).subspan(static_cast<std::size_t>(slot) * size, size);
  }
  [[nodiscard]] double* numbers(int slot) {
    return buffers_.data() + slot * (plane_bytes_ / std::int64_t{sizeof(double)});
  }

  /// Into the buffers of planes that are no longer valid when the one before next_ has been asked for.
  void read_ahead() {
    const auto first_valid = std::max<std::int64_t>(next_ - planes_at_once_, 0);
    for (; started_ < std::min(first_valid + depth_, sequence_.size()); ++started_) start_reading(started_);
  }
  void start_reading(std::int64_t index) {
    reader_->start({.slot = slot_of(index),
                    .position = sequence_.plane(index) * plane_bytes_,
                    .memory = bytes(slot_of(index))});
  }

  /// Waits until the last plane that was written by z's slot is in the file.
  void finish_slot(std::int64_t z) {
    auto& plane = written_planes_[static_cast<std::size_t>(z % depth_)];
    if (!plane) return;
    const Stopwatch stopwatch;
    const auto result = reader_->wait(slot_to_write(z));
    figures_.write_wait_s += stopwatch.seconds();
    const auto where = place_of(*plane);
    plane.reset();
    if (result.error == 0 && result.byte_count == plane_bytes_) {
      figures_.written_bytes += plane_bytes_;
      return;
    }
    throw RunError(
        ExitCode::cannot_write,
        fmt::format("{} cannot be written: {}", where,
                    result.error != 0 ? std::strerror(result.error)
                                      : fmt::format("{} of {} bytes", result.byte_count, plane_bytes_)));
  }

  /// Why a plane that was read is not what was written; empty: it is.
  std::optional<RunError> trouble_of(std::int64_t index, const PanelResult& result) {
    const auto z = sequence_.plane(index);
    if (result.error != 0)
      return RunError(ExitCode::cannot_write,
                      fmt::format("{} cannot be read: {}", place_of(z), std::strerror(result.error)));
    if (result.byte_count != plane_bytes_)
      return RunError(ExitCode::cannot_write, fmt::format("{} cannot be read: {} of {} bytes", place_of(z),
                                                          result.byte_count, plane_bytes_));
    if (crc32c(bytes(slot_of(index))) != checksums_[static_cast<std::size_t>(z)])
      return RunError(ExitCode::bad_data,
                      fmt::format("{}: found damaged data, expected what was written there", place_of(z)));
    return std::nullopt;
  }

  [[nodiscard]] std::string place_of(std::int64_t z) const {
    return fmt::format("--out-of-core {}: plane {} of a rank's file, at byte {},", file_.folder(), z,
                       z * plane_bytes_);
  }

  std::int64_t plane_bytes_;
  int planes_at_once_;
  int depth_;
  ScratchFile file_;
  kernels::PageBuffer<double> buffers_;
  std::vector<std::uint32_t> checksums_;                     // CRC-32C of what was written last, by plane
  std::vector<std::optional<std::int64_t>> written_planes_;  // by slot: under way
  StoreFigures figures_;
  PlaneSequence sequence_;           // planes of this pass
  std::int64_t next_ = 0;            // place in it
  std::int64_t started_ = 0;         // planes
  std::unique_ptr<PanelIo> reader_;  // the last member: its requests end before their buffers
};

}  // namespace

int store_depth(const PlaneLayout& layout, int planes_at_once) {
  constexpr std::int64_t wanted_bytes = std::int64_t{8} << 20;
  constexpr std::int64_t fewest = 4;
  constexpr std::int64_t most = 8;  // the reader "threads" has a thread for each buffer
  const auto under_way = static_cast<int>(std::clamp(wanted_bytes / layout.byte_count(), fewest, most));
  return planes_at_once + std::max(under_way, planes_at_once);
}

std::int64_t store_buffer_bytes(const PlaneLayout& layout, int planes_at_once) {
  return 2 * std::int64_t{store_depth(layout, planes_at_once)} * layout.byte_count();
}

std::unique_ptr<PlaneStore> make_memory_store(const PlaneLayout& layout, std::int64_t plane_count) {
  return std::make_unique<MemoryStore>(layout, plane_count);
}

std::unique_ptr<PlaneStore> make_file_store(const PlaneLayout& layout, const StoreFileOptions& options) {
  return std::make_unique<FileStore>(layout, options);
}

}  // namespace cg2d
