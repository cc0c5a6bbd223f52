#include "cg/tuning/profile_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"

namespace cg2d {

ProfileFile::ProfileFile(const ProfileSource& source) {
  if (!source.path.empty()) {
    path_ = source.path;
  } else if (const auto path = default_profile_path()) {
    path_ = *path;
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  } else {
    throw InputError("no place for the profile: neither XDG_CACHE_HOME nor HOME is set; give --profile FILE");
  }
  known_ = read_profile(path_);
  const OutputFile writable(path_);
}

void ProfileFile::add(const std::string& processor, const ProcessorProfile& found) {
  auto& mine = known_[processor];
  mine.critical_vector_length = found.critical_vector_length;
  mine.curve = found.curve;
  mine.measured = found.measured;
  for (const auto& tuned : found.cases) mine.put(tuned);
  write();
}

void ProfileFile::add(const std::string& processor, const TransportCase& found) {
  known_[processor].put(found);
  write();
}

int ProfileFile::remove(const std::string& name) {
  const int count = remove_measurements(known_, name);
  if (count > 0) write();
  return count;
}

TuningProfile read_profile(const std::string& path) {
  try {
    const auto text = text_of_file(path);
    if (!text || text->empty()) return {};
    return parse_profile(*text);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("--profile {}: is there, and no tuning profile: {}; name another file or remove it", path,
                    error.what()));
  }
}

void ProfileFile::write() const {
  OutputFile file(path_);
  file.write(rendered([&] { return format_profile(known_); }));
  file.commit();
}

}  // namespace cg2d
