#include "cg/panels/panel_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/unnamed_file.hpp"

namespace cg2d {

PanelFolder::PanelFolder(std::string folder, int rank, int rank_count)
    : folder_(std::move(folder)),
      file_name_(fmt::format("{}-of-{}.panels", rank, rank_count)),
      claim_({.option = "--out-of-core", .folder = folder_, .lock_name = fmt::format("{}.lock", rank)}) {
  remove_unfinished_files(folder_, [this](std::string_view name) { return name == file_name_; });
}

std::unique_ptr<PanelFile> PanelFolder::existing(const PanelFileKey& key, std::string& reason) const {
  reason.clear();
  if (access(file_path().c_str(), F_OK) != 0) return nullptr;
  try {
    auto file = std::make_unique<PanelFile>(file_path());
    if (file->key() == key) return file;
    reason = file_path() + ": found another matrix, kernel or layout";
  } catch (const FileError& error) {
    reason = error.what();
  }
  return nullptr;
}

void PanelFolder::remove_file() const {
  if (unlink(file_path().c_str()) != 0 && errno != ENOENT) cannot_write(file_path());
}

}  // namespace cg2d
