#include "cg/panels/storage_rate.hpp"

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

/// Bytes that no storage can compress.
void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t k = 0; k + sizeof(std::uint64_t) <= bytes.size(); k += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + k, &word, sizeof(word));
  }
}

}  // namespace

StorageSample::StorageSample(const std::string& folder, std::int64_t panel_bytes, int panel_count)
    : file_(folder, panel_bytes * panel_count), panel_bytes_(panel_bytes), panel_count_(panel_count) {
  kernels::PageBuffer<std::byte> panel(static_cast<std::size_t>(panel_bytes));
  for (int index = 0; index < panel_count; ++index) {
    fill(panel.span(), static_cast<std::uint64_t>(index));
    file_.write_at(index * panel_bytes, panel.span());
  }
  file_.put_on_disk();
}

double StorageSample::rate(const PanelReaderRow& reader, int depth, double least_s) const {
  kernels::PageBuffer<std::byte> buffers(static_cast<std::size_t>(panel_bytes_ * depth));
  const auto readings = reader.make(file_.descriptor(), depth);
  const auto request = [&](std::int64_t number) {
    const auto slot = static_cast<int>(number % depth);
    return PanelRequest{.slot = slot,
                        .position = number % panel_count_ * panel_bytes_,
                        .memory = buffers.span().subspan(static_cast<std::size_t>(slot * panel_bytes_),
                                                         static_cast<std::size_t>(panel_bytes_))};
  };
  const Stopwatch stopwatch;
  for (int number = 0; number < depth; ++number) readings->start(request(number));
  std::int64_t number = 0;
  double time_s = 0.0;
  for (; time_s < least_s || number < panel_count_; ++number) {
    const auto result = readings->wait(static_cast<int>(number % depth));
    if (result.error != 0 || result.byte_count < panel_bytes_)
      throw RunError(ExitCode::cannot_write,
                     fmt::format("a file that was written for measuring cannot be read: {}",
                                 std::strerror(result.error)));
    time_s = stopwatch.seconds();
    readings->start(request(number + depth));
  }
  return static_cast<double>(number * panel_bytes_) / time_s;
}

}  // namespace cg2d
