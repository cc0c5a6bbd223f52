#include "cg/base/storage/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cg/base/output_file.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

void put_names_on_disk(const std::string& folder) {
  const Descriptor names(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names.is_open() || !put_on_device(names.number())) cannot_write(folder);
}

}  // namespace

NewFile::NewFile(const std::string& folder, const std::string& name)
    : folder_(folder), path_(folder + "/" + name), file_(path_, FileNaming::at_the_end) {
  if (!file_.is_open()) cannot_create(path_);
}

void NewFile::append(std::span<const std::byte> bytes) {
  write_at(size_, bytes);
  size_ += std::ssize(bytes);
}

void NewFile::write_at(std::int64_t position, std::span<const std::byte> bytes) const {
  if (!file_.write_at(position, bytes)) cannot_write(path_);
}

void NewFile::reserve(std::int64_t byte_count) const {
  if (fallocate(file_.descriptor(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(byte_count)) == 0) return;
  const int error = errno;
  const auto free_bytes = folder_room(folder_).available_bytes;
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  if (!is_full && byte_count <= free_bytes) return;
  throw RunError(ExitCode::cannot_create,
                 fmt::format("cannot create {}: it needs {}, and its file system has {} left for it{}", path_,
                             format_bytes(byte_count), format_bytes(free_bytes),
                             is_full ? fmt::format(" ({})", std::strerror(error)) : std::string()));
}

void NewFile::end_at(std::int64_t byte_count) const {
  if (ftruncate(file_.descriptor(), static_cast<off_t>(byte_count)) != 0) cannot_write(path_);
}

void NewFile::put_on_disk() const {
  if (!file_.put_on_disk()) cannot_write(path_);
}

void NewFile::take_name() {
  if (!file_.take_name(ExistingFile::is_kept)) cannot_write(path_);
  put_names_on_disk(folder_);
}

void remove_unfinished_files(const std::string& folder,
                             const std::function<bool(std::string_view name)>& is_mine) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = name_without_temporary_end(entry->path().filename().string());
    if (!name.empty() && is_mine(name)) unlink(entry->path().c_str());
  }
}

}  // namespace cg2d
