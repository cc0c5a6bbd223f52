#include "cg/panels/panel_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/values.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {

PanelIoRow uring_panel_io();
PanelIoRow thread_panel_io();

std::span<const PanelIoRow> panel_io_table() {
  static const std::array table{uring_panel_io(), thread_panel_io()};
  return table;
}

const PanelIoRow* find_panel_io(std::string_view name) {
  const auto table = panel_io_table();
  const auto found = std::ranges::find(table, name, &PanelIoRow::name);
  return found == table.end() ? nullptr : &*found;
}

const PanelIoRow& usual_panel_io() {
  constexpr const char* variable = "CG2D_READER";
  const auto table = panel_io_table();
  if (const auto name = environment_variable(variable); !name.empty()) {
    require_known(variable, name, names_of(table));
    return *find_panel_io(name);
  }
  return *std::ranges::find_if(table, [](const auto& row) { return row.why_unavailable().empty(); });
}

const PanelIoRow& fallback_panel_io() { return panel_io_table().back(); }

std::string refusal_warning(int error) {
  return fmt::format("--out-of-core: the system refuses requests of io_uring ({}); threads move the data",
                     std::strerror(error));
}

// ---------------------------------------------------------------- rates

StorageSample::StorageSample(const std::string& folder, std::int64_t byte_count)
    : file_(folder, FileCaching::direct, byte_count), byte_count_(byte_count) {
  constexpr std::int64_t most_at_once = std::int64_t{1} << 20;
  const auto word_count =
      static_cast<std::size_t>(std::min(most_at_once, byte_count)) / sizeof(std::uint64_t);
  kernels::PageBuffer<std::uint64_t> words(word_count);
  std::mt19937_64 random;  // words that no storage can compress
  for (std::int64_t position = 0; position < byte_count;) {
    std::ranges::generate(words.span(), std::ref(random));
    const auto bytes = std::as_bytes(words.span());
    const auto count = std::min(std::ssize(bytes), byte_count - position);
    file_.write_at(position, bytes.first(static_cast<std::size_t>(count)));
    position += count;
  }
  file_.put_on_disk();
}

double StorageSample::rate(const PanelIoRow& reader, const PanelReading& reading, double least_s) const {
  const auto panel_bytes = reading.panel_bytes;
  const auto panel_count = byte_count_ / panel_bytes;
  kernels::PageBuffer<std::byte> buffers(static_cast<std::size_t>(panel_bytes * reading.depth));
  const auto readings = reader.make(
      {.descriptor = file_.file().descriptor(), .slot_count = reading.depth, .buffers = buffers.span()});
  const auto request = [&](std::int64_t number) {
    const auto slot = static_cast<int>(number % reading.depth);
    return PanelRequest{.slot = slot,
                        .position = number % panel_count * panel_bytes,
                        .memory = buffers.span().subspan(static_cast<std::size_t>(slot * panel_bytes),
                                                         static_cast<std::size_t>(panel_bytes))};
  };
  const Stopwatch stopwatch;
  for (int number = 0; number < reading.depth; ++number) readings->start(request(number));
  std::int64_t number = 0;
  volatile std::uint32_t checksums = 0;  // somebody might read them
  double time_s = 0.0;
  for (; time_s < least_s || number < panel_count; ++number) {
    const auto result = readings->wait(static_cast<int>(number % reading.depth));
    if (result.error != 0 || result.byte_count < panel_bytes)
      throw RunError(ExitCode::cannot_write, "a file that was written for measuring cannot be read: {}",
                     std::strerror(result.error));
    if (reading.checks) checksums = checksums + crc32c(request(number).memory);
    time_s = stopwatch.seconds();
    readings->start(request(number + reading.depth));
  }
  return static_cast<double>(number * panel_bytes) / time_s;
}

}  // namespace cg2d
