// Command lines of every subcommand, with or without a file of options. Nothing is run.
//
// An input has one argument per line. After a line "---" comes the text of the file that --config names, whatever its
// name is in the input.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/commands/subcommand.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {
namespace {

constexpr std::string_view separator = "\n---\n";
/// More than anybody types. CLI11 takes a time that rises with the square of their number.
constexpr size_t most_arguments = 40;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words{"cg2d"};
  while (!text.empty() && words.size() <= most_arguments) {
    const auto end = std::min(text.find('\n'), text.size());
    // An argument ends at its first zero byte.
    words.emplace_back(std::string(text.substr(0, end)).c_str());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// Files of options come from the input, never from this machine.
void name_config(std::vector<std::string>& words, const std::string& path) {
  for (size_t k = 1; k < words.size(); ++k) {
    if (words[k] == "--config" && k + 1 < words.size()) words[k + 1] = path;
    if (words[k].starts_with("--config=")) words[k] = "--config=" + path;
  }
}

}  // namespace

bool take_command_line(std::string_view input) {
  const auto end = std::min(input.find(separator), input.size());
  const MemoryFile file(end == input.size() ? std::string_view() : input.substr(end + separator.size()));
  auto words = words_of(input.substr(0, end));
  name_config(words, file.path());
  return accepts<InputError>([&] {
    const auto action = parse_command_line(words).action;
    promise(static_cast<bool>(action), "an accepted command line has an action");
  });
}

}  // namespace cg2d::fuzz
