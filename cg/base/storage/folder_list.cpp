#include "cg/base/storage/folder_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/errors.hpp"

namespace cg2d {

std::vector<std::string> folders_from(std::string_view option, const std::string& text) {
  std::vector<std::string> folders;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    if (end == begin)
      throw InputError(
          fmt::format("{} {}: must be folders on local storage, such as /scratch1,/scratch2", option, text));
    folders.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

}  // namespace cg2d
