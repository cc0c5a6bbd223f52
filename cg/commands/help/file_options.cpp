#include "cg/commands/help/file_options.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"

namespace cg2d {
namespace {

/// Names of the checks: CLI11 finds a check of an option by its name, so the option itself holds the use.
constexpr std::array uses{
    NamedValue<FileUse>{.name = "reads", .value = FileUse::reads},
    NamedValue<FileUse>{.name = "reads first", .value = FileUse::reads_first},
    NamedValue<FileUse>{.name = "writes", .value = FileUse::writes},
    NamedValue<FileUse>{.name = "writes last", .value = FileUse::writes_last},
    NamedValue<FileUse>{.name = "updates", .value = FileUse::updates},
    NamedValue<FileUse>{.name = "has a folder", .value = FileUse::folder},
    NamedValue<FileUse>{.name = "fills a folder", .value = FileUse::fills},
};
constexpr std::span<const NamedValue<FileUse>> use_table(uses);

constexpr std::string_view mark_of_default = "its default is a file";

bool has_check(CLI::Option& option, std::string_view name) {
  try {
    return option.get_validator(std::string(name)) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

std::optional<FileUse> use_of(CLI::Option& option) {
  const auto found = std::ranges::find_if(uses, [&](const auto& use) { return has_check(option, use.name); });
  return found == uses.end() ? std::nullopt : std::optional(found->value);
}

/// "ones", and "random:1" where "random:SEED" is a value.
bool stands_for_no_file(const std::string& text, const std::vector<std::string>& values) {
  return std::ranges::any_of(values, [&](const std::string& value) {
    const auto colon = value.find(':');
    return colon == std::string::npos ? text == value : text.starts_with(value.substr(0, colon + 1));
  });
}

/// The texts that were given, or the default where that is a file.
std::vector<std::string> texts_of(CLI::Option& option) {
  if (option.count() == 0 && has_check(option, mark_of_default)) return {option.get_default_str()};
  return option.results();
}

/// The folders of "DIR,...".
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::string_view rest(text);
  for (auto comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
    parts.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  parts.emplace_back(rest);
  return parts;
}

}  // namespace

CLI::Validator file_name(FileUse use) {
  CLI::Validator check(
      [](std::string& text) {
        return text.empty() ? std::string("the name of the file is empty") : std::string();
      },
      "");
  check.name(std::string(name_in(use_table, use)));
  return check;
}

CLI::Validator default_is_a_file() {
  CLI::Validator check([](std::string& /*text*/) { return std::string(); }, "");
  check.name(std::string(mark_of_default));
  return check;
}

std::vector<FileOption> named_files(CLI::App& parser) {
  std::vector<FileOption> files;
  for (auto* const option : parser.get_options([](CLI::Option* /*any*/) { return true; })) {
    const auto use = use_of(*option);
    if (!use) continue;
    const auto shown = described(*option);
    const bool is_list = option->get_type_name().ends_with(",...");
    for (const auto& text : texts_of(*option)) {
      if (stands_for_no_file(text, shown.values)) continue;
      for (auto& path : is_list ? parts_of(text) : std::vector{text})
        files.push_back({.option = shown.names.back(), .path = std::move(path), .use = *use});
    }
  }
  return files;
}

}  // namespace cg2d
