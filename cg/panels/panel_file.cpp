#include "cg/panels/panel_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cg/base/output_file.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/crc32c.hpp"

namespace cg2d {
namespace {

constexpr int64_t array_alignment = 64;

int64_t aligned(int64_t position, int64_t alignment) {
  return (position + alignment - 1) / alignment * alignment;
}

}  // namespace

PanelLayout panel_layout(std::span<const size_t> array_bytes) {
  PanelLayout places;
  for (const auto bytes : array_bytes) {
    places.array_positions.push_back(places.byte_count);
    places.byte_count = aligned(places.byte_count + static_cast<int64_t>(bytes), array_alignment);
  }
  places.byte_count = aligned(places.byte_count, panel_alignment);
  return places;
}

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
  const auto places = panel_layout(std::span(entry.array_bytes).first(arrays.size()));
  image_.assign(static_cast<size_t>(places.byte_count), std::byte{0});
  for (size_t index = 0; index < arrays.size(); ++index) {
    if (arrays[index].memory == nullptr)
      throw std::invalid_argument("an array that takes no memory that is lent to it");
    std::ranges::copy(arrays[index].bytes, image_.begin() + places.array_positions[index]);
  }
  entry.byte_count = places.byte_count;
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

}  // namespace cg2d
