#include "cg/base/storage/file_header.hpp"

namespace cg2d {

void require_mark(const OpenFile& file, std::size_t header_bytes, const FileFormat& format) {
  if (file.size() < static_cast<std::int64_t>(header_bytes))
    file.refuse("found {} bytes, expected a header of {}", file.size(), header_bytes);
  FileMark mark;
  static_cast<void>(file.fill(0, std::span(&mark, 1)));
  if (mark.magic != format.mark.magic)
    file.refuse("found other first bytes, expected those of {}", format.content);
  if (mark.byte_order != format.mark.byte_order)
    file.refuse("found another order of bytes, expected {} of such a machine as this", format.content);
  if (mark.version != format.mark.version)
    file.refuse("found version {} of the format, expected {}{}", mark.version, format.mark.version,
                format.remedy);
}

bool has_magic(const OpenFile& file, const FileFormat& format) {
  FileMark mark;
  return file.fill(0, std::span(&mark.magic, 1)) && mark.magic == format.mark.magic;
}

}  // namespace cg2d
