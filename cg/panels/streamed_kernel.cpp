#include "cg/panels/streamed_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "cg/base/sample.hpp"
#include "cg/base/storage/crc32c.hpp"

namespace cg2d {

std::optional<StreamMemory> stream_memory(int64_t panel_count, int64_t most_panel_bytes, int64_t byte_count,
                                          int depth) {
  const auto room = byte_count / std::max<int64_t>(most_panel_bytes, 1);
  if (room >= panel_count)
    return StreamMemory{.resident_count = static_cast<int>(panel_count), .buffer_count = 0};
  if (room < 2) return std::nullopt;
  // Long panels, or little memory: what is resident is read once, and a few buffers are nearly as good as many.
  constexpr int64_t few = 4;
  const auto worthwhile = std::max(few, room * 3 / 16);
  const auto buffers = std::min<int64_t>({depth, worthwhile, room, panel_count});
  return StreamMemory{.resident_count = static_cast<int>(room - buffers),
                      .buffer_count = static_cast<int>(buffers)};
}

StreamedKernel::StreamedKernel(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                               std::unique_ptr<PanelFile> file, const StreamMemory& memory,
                               const PanelIoRow& reader)
    : row_(row),
      vector_count_(static_cast<size_t>(options.vector_count)),
      file_(std::move(file)),
      memory_(memory) {
  const auto& entries = file_->panels;
  buffers_ =
      kernels::PageBuffer<std::byte>(static_cast<size_t>(file_->most_panel_bytes * memory_.buffer_count));
  reader_ = reader.make(
      {.descriptor = file_->descriptor.number(), .slot_count = std::max(memory_.buffer_count, 1)});
  panels_.reserve(entries.size());
  std::vector<size_t> residents;
  for (size_t index = 0; index < entries.size(); ++index) {
    // Resident panels are spread evenly among the others.
    const auto before = [&](size_t number) {
      return number * static_cast<size_t>(memory_.resident_count) / entries.size();
    };
    (before(index + 1) > before(index) ? residents : streamed_).push_back(index);
    const auto sizes = file_->array_bytes(index);
    panels_.push_back({.kernel = row_.make_external({.row_count = entries[index].row_count,
                                                     .column_count = file_->header.key.column_count,
                                                     .array_bytes = sizes},
                                                    options),
                       .array_positions = panel_layout(sizes).array_positions});
  }
  resident_ = kernels::PageBuffer<std::byte>(static_cast<size_t>(file_->panel_bytes - streamed_byte_count()));
  auto room = resident_.span();
  for (const auto index : residents) {
    const auto bytes = room.first(static_cast<size_t>(entries[index].byte_count));
    reader_->start({.slot = 0, .position = entries[index].position, .memory = bytes});
    check(entries[index], reader_->wait(0), bytes);
    lend(panels_[index], bytes.data());
    room = room.subspan(bytes.size());
  }
  if (streamed_.empty()) return;
  for (size_t number = 0; number < static_cast<size_t>(memory_.buffer_count); ++number)
    reader_->start(request_for(number));
}

std::string_view StreamedKernel::instruction_set() const { return panels_.front().kernel->instruction_set(); }

void StreamedKernel::lend(Panel& panel, std::byte* bytes) {
  const auto arrays = panel.kernel->stored_arrays();
  for (size_t index = 0; index < arrays.size(); ++index)
    arrays[index].memory->lend(bytes + panel.array_positions[index]);
}

PanelRequest StreamedKernel::request_for(size_t number) {
  const auto& entry = file_->panels[panel_of(number)];
  const auto buffer = number % static_cast<size_t>(memory_.buffer_count);
  return {.slot = static_cast<int>(buffer),
          .position = entry.position,
          .memory = buffers_.span().subspan(buffer * static_cast<size_t>(file_->most_panel_bytes),
                                            static_cast<size_t>(entry.byte_count))};
}

void StreamedKernel::go_on() {
  reader_->start(request_for(next_ + static_cast<size_t>(memory_.buffer_count)));
  ++next_;
}

/// Returns the panel's bytes.
std::byte* StreamedKernel::finish_reading(size_t number) {
  const auto& entry = file_->panels[panel_of(number)];
  const auto request = request_for(number);
  const Stopwatch stopwatch;
  const auto result = reader_->wait(request.slot);
  figures_.wait_s += stopwatch.seconds();
  const Stopwatch check_stopwatch;
  try {
    check(entry, result, request.memory);
    figures_.check_s += check_stopwatch.seconds();
  } catch (const RunError&) {
    reader_->start(request);
    check(entry, reader_->wait(request.slot), request.memory);
  }
  figures_.byte_count += entry.byte_count;
  return request.memory.data();
}

int64_t StreamedKernel::streamed_byte_count() const {
  int64_t byte_count = 0;
  for (const auto index : streamed_) byte_count += file_->panels[index].byte_count;
  return byte_count;
}

double StreamedKernel::measure_reading(double least_s) {
  if (streamed_.empty()) return 0.0;
  const Stopwatch stopwatch;
  int64_t byte_count = 0;
  double time_s = 0.0;
  bool is_complete = true;
  // Panels that were read before are not of this time. A product begins with the first panel.
  for (size_t count = 0; time_s < least_s || count % streamed_.size() != 0; ++count) {
    const auto request = request_for(next_);
    const auto result = reader_->wait(request.slot);
    go_on();
    is_complete &= result.byte_count == std::ssize(request.memory);
    time_s = stopwatch.seconds();
    if (count >= static_cast<size_t>(memory_.buffer_count)) byte_count += std::ssize(request.memory);
  }
  return is_complete ? static_cast<double>(byte_count) / time_s : 0.0;
}

void StreamedKernel::check(const PanelEntry& entry, const PanelResult& result,
                           std::span<const std::byte> bytes) const {
  const auto where = fmt::format("panel {} at byte {}", &entry - file_->panels.data(), entry.position);
  if (result.error != 0)
    throw RunError(ExitCode::cannot_write, "{}: {} cannot be read: {}", file_->path, where,
                   std::strerror(result.error));
  if (result.byte_count < std::ssize(bytes))
    throw FileError(file_->path, "{}: found {} bytes, expected {}: the file has been cut off", where,
                    result.byte_count, bytes.size());
  if (crc32c(bytes) != entry.checksum)
    throw FileError(file_->path, "{}: found damaged data, expected what meets its checksum", where);
}

void StreamedKernel::multiply_panel(size_t index, const kernels::Operands& operands,
                                    const kernels::ProductMode& mode) {
  const auto& entry = file_->panels[index];
  const auto first = static_cast<size_t>(entry.first_row) * vector_count_;
  const auto count = static_cast<size_t>(entry.row_count) * vector_count_;
  auto of_panel = operands;
  of_panel.q_rows = operands.q_rows.subspan(first, count);
  if (row_.stores_half()) of_panel.p_rows = operands.p_rows.subspan(first, count);
  panels_[index].kernel->multiply(of_panel, mode);
}

void StreamedKernel::multiply_panels(const kernels::Operands& operands, const kernels::ProductMode& mode) {
  for (size_t index = 0; index < panels_.size(); ++index) {
    const bool is_streamed = !streamed_.empty() && panel_of(next_) == index;
    if (is_streamed) lend(panels_[index], finish_reading(next_));
    multiply_panel(
        index, operands,
        {.is_added = mode.is_added, .is_continued = mode.is_continued || (row_.stores_half() && index > 0)});
    if (is_streamed) go_on();
  }
}

void StreamedKernel::multiply(const kernels::Operands& operands, const kernels::ProductMode& mode) {
  assert(mode.share_count == 1);
  const Stopwatch stopwatch;
  try {
    if (!failure_) multiply_panels(operands, mode);
  } catch (const RunError& error) {
    failure_ = error;
  }
  ++figures_.product_count;
  figures_.product_s += stopwatch.seconds();
  if (!failure_) return;
  std::ranges::fill(operands.q_rows, std::numeric_limits<double>::quiet_NaN());
  std::ranges::fill(operands.q_columns, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace cg2d
