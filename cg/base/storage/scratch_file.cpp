#include "cg/base/storage/scratch_file.hpp"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

ScratchFile::ScratchFile(std::string folder, FileCaching caching, std::int64_t byte_count)
    : folder_(std::move(folder)),
      file_(folder_ + "/.cg2d-scratch", FileNaming::never, caching == FileCaching::direct ? O_DIRECT : 0) {
  if (!file_.is_open()) cannot_create_in(folder_);
  if (byte_count > 0) take_room({.begin = 0, .end = byte_count});
}

void ScratchFile::take_room(const FileRange& range) const {
  const auto byte_count = range.end - range.begin;
  if (fallocate(file_.descriptor(), 0, static_cast<off_t>(range.begin), static_cast<off_t>(byte_count)) == 0)
    return;
  const int error = errno;
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return;
  throw RunError(ExitCode::cannot_create, "not enough room in the folder {} for a file of {}: {}", folder_,
                 format_bytes(range.end), std::strerror(error));
}

void ScratchFile::write_at(std::int64_t position, std::span<const std::byte> bytes) const {
  if (!file_.write_at(position, bytes)) cannot_write(folder_);
}

void ScratchFile::put_on_disk() const {
  if (!file_.put_on_disk()) cannot_write(folder_);
}

bool ScratchFile::is_direct() const { return (fcntl(file_.descriptor(), F_GETFL) & O_DIRECT) != 0; }

namespace {

std::int64_t position_of(std::size_t chunk) {
  return static_cast<std::int64_t>(chunk * ScratchChunks::chunk_bytes);
}

}  // namespace

std::size_t ScratchChunks::add() {
  constexpr std::size_t chunks_at_once = 512;  // 32 MiB
  if (checksums_.size() == chunks_with_room_) {
    file_.take_room(
        {.begin = position_of(chunks_with_room_), .end = position_of(chunks_with_room_ + chunks_at_once)});
    chunks_with_room_ += chunks_at_once;
  }
  checksums_.push_back(0);
  return checksums_.size() - 1;
}

void ScratchChunks::put(std::size_t chunk, std::span<const std::byte> bytes) {
  std::erase_if(known_, [&](const KnownChunk& known) { return known.chunk == chunk; });
  checksums_[chunk] = crc32c(bytes);
  if (!file_.file().write_at(position_of(chunk), bytes)) fail("written", chunk, errno);
  // Writing to the device begins now, so that pages are clean when the system wants them back. Systems that cannot do so lose nothing.
  const int outcome = sync_file_range(file_.file().descriptor(), position_of(chunk),
                                      static_cast<off_t>(bytes.size()), SYNC_FILE_RANGE_WRITE);
  if (outcome != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT)) fail("written", chunk, errno);
}

void ScratchChunks::get(std::size_t chunk, std::span<std::byte> bytes) const {
  const auto count = file_.file().read_at(position_of(chunk), bytes);
  if (!count) fail("read", chunk, errno);
  if (*count < bytes.size() || crc32c(bytes) != checksums_[chunk]) fail_by_damage(chunk);
}

std::span<const std::byte> ScratchChunks::look_at(std::size_t chunk) {
  constexpr std::size_t most_known = 64;
  auto known = std::ranges::find(known_, chunk, &KnownChunk::chunk);
  if (known != known_.end()) {
    known_.splice(known_.begin(), known_, known);
    return known_.front().bytes;
  }
  KnownChunk fresh{.chunk = chunk};
  if (known_.size() == most_known) {
    fresh.bytes = std::move(known_.back().bytes);
    known_.pop_back();
  }
  fresh.bytes.resize(chunk_bytes);
  get(chunk, fresh.bytes);
  known_.push_front(std::move(fresh));
  return known_.front().bytes;
}

void ScratchChunks::fail(std::string_view what, std::size_t chunk, int error) const {
  throw RunError(ExitCode::cannot_write,
                 "the unlinked temporary file in the folder {} cannot be {} at byte {}: {}", file_.folder(),
                 what, position_of(chunk), std::strerror(error));
}

/// The system tells of a failed write-back once, to those that ask.
void ScratchChunks::fail_by_damage(std::size_t chunk) const {
  if (!file_.file().put_on_disk()) fail("written", chunk, errno);
  throw RunError(ExitCode::bad_data,

                 "the unlinked temporary file in the folder {}: found damaged data at byte {}, expected what "
                 "was written there: its device loses data",
                 file_.folder(), position_of(chunk));
}

}  // namespace cg2d
