#include "cg/base/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cg/base/errors.hpp"

namespace cg2d {

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

}  // namespace cg2d
