#include "cg/panels/streamed_kernel.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "cg/base/output_file.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

constexpr int64_t array_alignment = 64;

int64_t aligned(int64_t position, int64_t alignment) {
  return (position + alignment - 1) / alignment * alignment;
}

/// The place of each array within a panel, and the bytes of the panel.
std::vector<int64_t> array_positions(std::span<const size_t> array_bytes) {
  std::vector<int64_t> positions{0};
  for (const auto bytes : array_bytes)
    positions.push_back(aligned(positions.back() + static_cast<int64_t>(bytes), array_alignment));
  positions.back() = aligned(positions.back(), panel_alignment);
  return positions;
}

}  // namespace

PanelFileWriter::PanelFileWriter(const std::string& folder, const std::string& name, const PanelFileKey& key)
    : file_(folder, name) {
  header_.key = key;
  const std::vector<std::byte> room(panel_alignment);
  file_.append(room);
}

void PanelFileWriter::append(kernels::SpmvKernel& panel, int64_t row_count) {
  const auto arrays = panel.stored_arrays();
  if (arrays.size() > PanelEntry::most_arrays)
    throw std::invalid_argument("more arrays than a panel may have");
  PanelEntry entry{.position = file_.size(), .first_row = row_, .row_count = row_count};
  std::ranges::transform(arrays, entry.array_bytes.begin(),
                         [](const auto& array) { return array.bytes.size(); });
  const auto positions = array_positions(std::span(entry.array_bytes).first(arrays.size()));
  entry.byte_count = positions.back();
  image_.assign(static_cast<size_t>(entry.byte_count), std::byte{0});
  for (size_t index = 0; index < arrays.size(); ++index) {
    if (arrays[index].memory == nullptr)
      throw std::invalid_argument("an array that takes no memory that is lent to it");
    std::ranges::copy(arrays[index].bytes, image_.begin() + positions[index]);
  }
  entry.checksum = crc32c(image_);
  entries_.push_back(entry);
  header_.array_count = std::ssize(arrays);
  row_ += row_count;
  const Stopwatch stopwatch;
  file_.append(image_);
  write_s_ += stopwatch.seconds();
}

void PanelFileWriter::finish(const PanelFileFigures& figures) {
  image_ = {};
  header_.figures = figures;
  header_.panel_count = std::ssize(entries_);
  header_.index_position = file_.size();
  const auto entries = std::as_bytes(std::span(entries_));
  header_.index_checksum = crc32c(entries);
  const Stopwatch stopwatch;
  file_.append(entries);
  file_.write_at(0, sealed(header_));
  file_.end_at(file_.size());
  file_.put_on_disk();
  file_.take_name();
  write_s_ += stopwatch.seconds();
}

PanelFile::PanelFile(std::string path_of_file) : path(std::move(path_of_file)) {
  const OpenFile file(path);
  header = read_header<PanelFileHeader>(file);
  if (header.array_count < 0 || header.array_count > std::ssize(PanelEntry{}.array_bytes))
    file.refuse("found {} arrays in a panel, expected {} at most", header.array_count,
                PanelEntry::most_arrays);
  const auto expected = header.index_position + header.panel_count * static_cast<int64_t>(sizeof(PanelEntry));
  if (file.size() != expected)
    file.refuse("found {} bytes, expected the {} that its header announces", file.size(), expected);
  panels.resize(static_cast<size_t>(header.panel_count));
  const std::span entries(panels);
  if (!file.fill(header.index_position, entries) || crc32c(std::as_bytes(entries)) != header.index_checksum)
    file.refuse("found a damaged index, expected one that meets its checksum");
  for (const auto& panel : panels) {
    most_panel_bytes = std::max(most_panel_bytes, panel.byte_count);
    panel_bytes += panel.byte_count;
  }
  for (const int flags : {O_DIRECT, 0}) {
    if (!descriptor.is_open()) descriptor = Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  }
  if (!descriptor.is_open()) throw FileError(path, "cannot be opened any more");
}

bool PanelFile::is_direct() const { return (fcntl(descriptor.number(), F_GETFL) & O_DIRECT) != 0; }

// ---------------------------------------------------------------- folder

PanelFolder::PanelFolder(std::string path, int rank, int rank_count)
    : folder(std::move(path)),
      file_name(fmt::format("{}-of-{}.panels", rank, rank_count)),
      claim("--out-of-core", folder, fmt::format("{}.lock", rank)) {
  remove_unfinished_files(folder, [this](std::string_view name) { return name == file_name; });
}

std::unique_ptr<PanelFile> PanelFolder::existing(const PanelFileKey& key) const {
  try {
    auto file = std::make_unique<PanelFile>(file_path());
    if (file->header.key == key) return file;
  } catch (const FileError&) {
    // There is none, or it is damaged: a new one is written.
  }
  return nullptr;
}

void PanelFolder::remove_file() const {
  if (unlink(file_path().c_str()) != 0 && errno != ENOENT) cannot_write(file_path());
}

// ---------------------------------------------------------------- product

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
                       .array_positions = array_positions(sizes)});
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
    throw FileError(
        file_->path,
        "{}: found damaged data, expected what meets its checksum; remove the file, it is made anew", where);
}

void StreamedKernel::multiply_panels(const kernels::Operands& operands, const kernels::ProductMode& mode) {
  for (size_t index = 0; index < panels_.size(); ++index) {
    const bool is_streamed = !streamed_.empty() && panel_of(next_) == index;
    if (is_streamed) lend(panels_[index], finish_reading(next_));
    const auto& entry = file_->panels[index];
    const auto first = static_cast<size_t>(entry.first_row) * vector_count_;
    const auto count = static_cast<size_t>(entry.row_count) * vector_count_;
    auto of_panel = operands;
    of_panel.q_rows = operands.q_rows.subspan(first, count);
    if (row_.stores_half()) of_panel.p_rows = operands.p_rows.subspan(first, count);
    panels_[index].kernel->multiply(
        of_panel,
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
