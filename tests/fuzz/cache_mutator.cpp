// Changes of binary files that reach behind the checksums: the zeros after the header stay, and half of the changed files get
// the length and the checksums that belong to them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "fuzz/cache_bytes.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t count, size_t most);

namespace {

using cg2d::CacheHeader;
using cg2d::CacheLayout;

constexpr size_t header_bytes = sizeof(CacheHeader);
constexpr auto data_begin = static_cast<size_t>(CacheLayout::data_begin);

/// Makes a small matrix of any header and data.
void repair(std::string& file) {
  CacheHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  constexpr uint64_t most_rows = 32;
  constexpr uint64_t most_nonzeros = 128;
  header.mark = CacheHeader::format.mark;
  header.order = 1 + static_cast<int64_t>((static_cast<uint64_t>(header.order) - 1) % most_rows);
  header.nonzero_count = static_cast<int64_t>(static_cast<uint64_t>(header.nonzero_count) % most_nonzeros);
  std::memcpy(file.data(), &header, sizeof(header));
  file.resize(static_cast<size_t>(CacheLayout(header).data_end), '\1');
  cg2d::fuzz::put_checksums(file);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t most, unsigned seed) {
  if (count < data_begin || most < data_begin + 8192 || seed % 16 == 0)
    return LLVMFuzzerMutate(bytes, count, most);
  std::string parts(bytes, bytes + header_bytes);
  parts.append(bytes + data_begin, bytes + count);
  const auto part_size = parts.size();
  parts.resize(most - (data_begin - header_bytes));
  parts.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(parts.data()), part_size, parts.size()));
  if (parts.size() < header_bytes) parts.resize(header_bytes);
  std::string file = parts.substr(0, header_bytes);
  file.append(data_begin - header_bytes, '\0').append(parts, header_bytes);
  if (seed % 2 == 0) repair(file);
  file.resize(std::min(file.size(), most));
  std::memcpy(bytes, file.data(), file.size());
  return file.size();
}
