#pragma once

// The quality and date of measurements that files keep for later runs, and these files.

#include <filesystem>
#include <system_error>

#include "cg/base/output_file.hpp"

namespace cg2d {

/// The circumstances of a measurement, kept in its file.
struct MeasurementRecord {
  /// UTC, "2026-11-22T12:30:00Z"; empty where an earlier program measured: nothing is known.
  std::string date{};
  int attempts = 0;  ///< the last one counts
  // The machine's quiet during the measurement (QuietResult), and how well its repeats agree.
  double switches_per_s = 0.0;
  double steal_share = 0.0;
  double spread = 0.0;        ///< spread of the repeats that spread most, see spread_of_repeats()
  std::string disturbance{};  ///< why it is not to be trusted, where the user kept it nevertheless
};

class Members;
/// The member "measured", where there is one.
void describe_measured(Members& m, MeasurementRecord& record);

/// The time now, as MeasurementRecord::date.
std::string date_now();

/// "measured 2026-11-22", with the disturbance if there was one; "of unknown date".
std::string describe(const MeasurementRecord& record);
/// One phrase for a run that uses the measurement; empty if it is neither old nor poor, and where nothing is
/// known. now: as date_now().
std::string remark_on(const MeasurementRecord& record, const std::string& now);

/// A kind of files with measurements, to which several processes may add. Local: of one process.
template <typename Document>
struct MeasurementFile {
  std::string_view option;  ///< that names the file: "--profile"
  std::string_view noun;    ///< "tuning profile"
  /// Throws InputError, without the name of the file.
  Document (*parse)(std::string_view text);
  std::string (*format)(const Document& document);

  /// The contents, none where there is no file. Throws InputError for a file of another kind.
  Document read(const std::string& path) const {
    try {
      const auto text = text_of_file(path);
      return text && !text->empty() ? parse(*text) : Document{};
    } catch (const InputError& error) {
      throw InputError(fmt::format("{} {}: is there, and no {}: {}; name another file or remove it", option,
                                   path, noun, error.what()),
                       error.code());
    }
  }
  /// Finds out, before anything is measured, whether the file can be written, and is of this kind if it is there: it is not overwritten else.
  /// makes_folder: in the default place. Throws InputError, RunError.
  void require_writable(const std::string& path, bool makes_folder) const {
    std::error_code ignored;
    if (makes_folder) std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    static_cast<void>(read(path));
    const OutputFile writable(path);
  }
  /// Changes the contents, those that other processes have added meanwhile among them. Throws RunError.
  void change(const std::string& path, const std::function<void(Document&)>& edit) const {
    update_file(path, [&] {
      auto known = read(path);
      edit(known);
      return format(known);
    });
  }
};

}  // namespace cg2d
