#pragma once

// A file that rank 0 writes for all ranks; all ranks learn of its errors.

#include <memory>
#include <string>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The output file, opened on rank 0 only; null on the others. Collective. Throws RunError.
inline std::unique_ptr<OutputFile> open_output(const std::string& path, comm::RankGroup& group) {
  std::unique_ptr<OutputFile> file;
  agree_on(group, [&] {
    if (group.rank() == 0) file = std::make_unique<OutputFile>(path);
  });
  return file;
}

/// Writes and commits the text that `make` makes on rank 0. Collective. Throws RunError, that of `make` and
/// of rendered(), too.
template <typename Make>
void write_output(OutputFile* file, comm::RankGroup& group, const Make& make) {
  agree_on(group, [&] {
    if (file == nullptr) return;
    file->write(rendered(make));
    file->commit();
  });
}

}  // namespace cg2d
