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
  static_cast<void>(read());
  const OutputFile writable(path_);
}

void ProfileFile::add(const std::string& processor, const ProcessorProfile& found) const {
  update([&](TuningProfile& known) {
    auto& mine = known[processor];
    mine.critical_vector_length = found.critical_vector_length;
    mine.curve = found.curve;
    for (const auto& tuned : found.cases) mine.put(tuned);
  });
}

void ProfileFile::add(const std::string& processor, const TransportCase& found) const {
  update([&](TuningProfile& known) { known[processor].put(found); });
}

TuningProfile ProfileFile::read() const {
  try {
    const auto text = text_of_file(path_);
    if (!text || text->empty()) return {};
    return parse_profile(*text);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("--profile {}: is there, and no tuning profile: {}; name another file or remove it",
                    path_, error.what()));
  }
}

/// Another process may have added to the file meanwhile.
void ProfileFile::update(const std::function<void(TuningProfile&)>& change) const {
  update_file(path_, [&] {
    auto known = read();
    change(known);
    return format_profile(known);
  });
}

}  // namespace cg2d
