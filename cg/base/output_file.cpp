#include "cg/base/output_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace cg2d {
namespace {

bool is_special(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// The final target of a symbolic link: renaming over the link itself would replace it (for example
/// /dev/stdout).
std::string behind_links(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

[[noreturn]] void cannot_create(const std::string& path) {
  throw RunError(ExitCode::cannot_create,
                 fmt::format("cannot create {}: {}; name a file in a folder that can be written", path,
                             std::strerror(errno)));
}

}  // namespace

std::optional<std::string> text_of_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  // An empty file is a text, too; copying nothing would count as a failure.
  if (file && file.peek() == std::ifstream::traits_type::eof() && !file.bad()) return std::string();
  if (file) text << file.rdbuf();
  if (file && text) return text.str();
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw InputError(fmt::format("it cannot be read ({})", std::strerror(errno)));
}

std::optional<std::string> default_profile_path() {
  const auto folder_in = [](const char* variable) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the program sets a variable
    const char* value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  };
  // A relative path in XDG_CACHE_HOME is to be ignored (XDG Base Directory Specification).
  if (const auto cache = folder_in("XDG_CACHE_HOME"); cache.starts_with('/'))
    return cache + "/cg2d/profile.json";
  if (const auto home = folder_in("HOME"); !home.empty()) return home + "/.cache/cg2d/profile.json";
  return std::nullopt;
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) {
    file_ = stdout;
    return;
  }
  if (is_special(path_)) {
    file_ = std::fopen(path_.c_str(), "w");
    if (file_ == nullptr) cannot_create(path_);
    return;
  }
  struct stat status {};
  if (stat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    cannot_create(path_);
  }
  path_ = behind_links(path_);
  temporary_path_ = path_ + ".XXXXXX";
  const int descriptor = mkstemp(temporary_path_.data());
  if (descriptor < 0) {
    temporary_path_.clear();
    cannot_create(path_);
  }
  // mkstemp makes files for the owner only; a result gets the permissions that the user's mask allows.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  file_ = fdopen(descriptor, "w");
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

void OutputFile::fail() const {
  throw RunError(ExitCode::cannot_write,
                 fmt::format("cannot write {}: {}; is the disk full?",
                             path_.empty() ? "standard output" : path_, std::strerror(errno)));
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
}

void OutputFile::commit() {
  if (std::fflush(file_) != 0) fail();
  if (!temporary_path_.empty()) {
    if (fsync(fileno(file_)) != 0) fail();
    if (rename(temporary_path_.c_str(), path_.c_str()) != 0) fail();
    temporary_path_.clear();
  }
}

}  // namespace cg2d
