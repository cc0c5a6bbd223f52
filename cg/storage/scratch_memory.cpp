#include "cg/storage/scratch_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "cg/storage/scratch_file.hpp"

namespace cg2d {

ScratchMemory::ScratchMemory(std::string folder)
    : folder_(std::move(folder)), descriptor_(open_scratch(folder_, 0)) {
  if (descriptor_ < 0) cannot_create_scratch(folder_);
}

ScratchMemory::~ScratchMemory() {
  for (const auto& part : parts_) munmap(part.bytes.data(), part.bytes.size());
  close(descriptor_);
}

std::span<std::byte> ScratchMemory::take(std::size_t byte_count) {
  const auto end = byte_count_ + static_cast<std::int64_t>(byte_count);
  take_scratch_room(descriptor_, {.begin = byte_count_, .end = end}, folder_);
  // A page beyond the end of the file is none.
  if (ftruncate(descriptor_, static_cast<off_t>(end)) != 0) cannot_create_scratch(folder_);
  void* const address = mmap(nullptr, byte_count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                             static_cast<off_t>(byte_count_));
  if (address == MAP_FAILED) throw std::bad_alloc();
  parts_.push_back({.bytes = {static_cast<std::byte*>(address), byte_count}, .position = byte_count_});
  byte_count_ = end;
  return parts_.back().bytes;
}

void ScratchMemory::set_aside(std::span<const std::byte> bytes) const {
  const auto* const begin = bytes.data();
  const auto part = std::ranges::find_if(parts_, [&](const Part& candidate) {
    return candidate.bytes.data() <= begin && begin < candidate.bytes.data() + candidate.bytes.size();
  });
  if (part == parts_.end()) return;
  const auto offset = begin - part->bytes.data();
  madvise(part->bytes.data() + offset, bytes.size(), MADV_DONTNEED);
  // Writing begins now, so that pages are clean when the system wants them back. It is only advice.
  sync_file_range(descriptor_, part->position + offset, static_cast<off_t>(bytes.size()),
                  SYNC_FILE_RANGE_WRITE);
}

}  // namespace cg2d
