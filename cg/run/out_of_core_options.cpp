#include "cg/run/out_of_core_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/errors.hpp"

namespace cg2d {

OutOfCoreOptions out_of_core_options_from(const std::string& text) {
  OutOfCoreOptions options;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    if (end == begin)
      throw InputError(fmt::format(
          "--out-of-core {}: must be folders on local storage, such as /scratch1,/scratch2", text));
    options.folders.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return options;
}

}  // namespace cg2d
