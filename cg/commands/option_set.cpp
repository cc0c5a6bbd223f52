#include "cg/commands/option_set.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cassert>

namespace cg2d {
namespace {

/// "ones", and "random:1" where "random:SEED" is a value.
bool stands_for_no_file(const std::string& text, const std::vector<std::string>& values) {
  return std::ranges::any_of(values, [&](const std::string& value) {
    const auto colon = value.find(':');
    return colon == std::string::npos ? text == value : text.starts_with(value.substr(0, colon + 1));
  });
}

/// A value that names a file which is read.
constexpr std::string_view file_value = "file:FILE";
constexpr std::string_view file_prefix = "file:";

std::string refusal_of_empty_name(const std::string& text) {
  return text.empty() ? "the name of the file is empty" : "";
}

}  // namespace

std::string long_name_of(const OptionRow& row) {
  const auto names = split_at(row.name, ',');
  const auto is_long = [](const std::string& name) { return name.starts_with("--"); };
  const auto found = std::ranges::find_if(names, is_long);
  return found == names.end() ? row.name : *found;
}

void OptionSet::begin_group(const std::string& title) { parser_.option_defaults()->group(title); }

void OptionSet::add_flag(const std::string& name, const std::string& help, std::function<void()> take) {
  declared_.push_back({.row = {name, "", help},
                       .option = parser_.add_flag_callback(name, std::move(take), help),
                       .take = {}});
}

void OptionSet::add_texts(OptionRow row, bool is_list, std::function<void(const Texts&)> take,
                          const OptionTraits& traits) {
  row.traits = traits;
  auto* const option = parser_.add_option(row.name, CLI::callback_t{}, row.help);
  const bool is_argument = !row.name.starts_with('-');
  assert(is_argument || !row.value.empty());  // help would show a flag
  option->type_name(row.value)->default_str(row.standing)->required(row.traits.is_required);
  if (is_list) option->expected(CLI::detail::expected_max_vector_size);
  if (is_list && !is_argument && !row.traits.is_repeated) option->delimiter(',');
  if (row.traits.is_repeated) option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (row.traits.file) option->check(&refusal_of_empty_name);
  declared_.push_back({.row = std::move(row), .option = option, .take = std::move(take)});
}

void OptionSet::require_with(const std::string& option, const std::string& other) {
  parser_.get_option(option)->needs(parser_.get_option(other));
}

void OptionSet::exclude(const std::string& option, const std::string& other) {
  parser_.get_option(option)->excludes(parser_.get_option(other));
}

void OptionSet::exclude_others(const std::string& option, const std::vector<std::string>& allowed) {
  auto* const asking = parser_.get_option(option);
  for (const auto& other : declared_) {
    const auto has_name = [&](const std::string& name) { return other.option->check_name(name); };
    if (other.option != asking && std::ranges::none_of(allowed, has_name)) asking->excludes(other.option);
  }
}

void OptionSet::convert() const {
  for (const auto& declared : declared_) {
    if (declared.take && declared.option->count() > 0) declared.take(declared.option->results());
  }
}

bool OptionSet::has(std::string_view option) const {
  const auto* const found = parser_.get_option_no_throw(std::string(option));
  if (found == nullptr || found->count() == 0) return false;
  const bool is_flag = found->get_items_expected_max() == 0;
  return !is_flag || found->as<bool>();
}

OptionSet::Texts OptionSet::texts_of(std::string_view option) const {
  const auto* const found = parser_.get_option_no_throw(std::string(option));
  return found == nullptr ? Texts{} : found->results();
}

std::map<std::string, OptionSet::Texts, std::less<>> OptionSet::all_texts() const {
  std::map<std::string, Texts, std::less<>> texts;
  for (const auto& declared : declared_) {
    if (declared.option->count() > 0) texts[long_name_of(declared.row)] = declared.option->results();
  }
  return texts;
}

std::string OptionSet::text_of(std::string_view option) const {
  const auto texts = texts_of(option);
  return texts.empty() ? std::string() : texts.front();
}

void OptionSet::refuse(const std::vector<std::string_view>& options, std::string_view reason) const {
  for (const auto option : options) {
    if (has(option)) throw InputError("{}: {}", option, reason);
  }
}

OptionSet::Texts OptionSet::file_texts(const Declared& declared) {
  auto texts = declared.option->results();
  if (texts.empty() && declared.row.traits.uses_default_file)
    texts.push_back(declared.option->get_default_str());
  if (!declared.row.value.ends_with(",...")) return texts;
  Texts parts;
  for (const auto& text : texts) std::ranges::move(split_at(text, ','), std::back_inserter(parts));
  return parts;
}

std::vector<FileOption> OptionSet::named_files() const {
  std::vector<FileOption> files;
  for (const auto& declared : declared_) {
    if (declared.row.value.find(file_value) != std::string::npos) {
      for (const auto& text : declared.option->results()) {
        if (text.starts_with(file_prefix))
          files.push_back({long_name_of(declared.row), text.substr(file_prefix.size()), FileUse::reads});
      }
    }
    if (!declared.row.traits.file) continue;
    const auto shown = described(*declared.option);
    for (auto& path : file_texts(declared)) {
      if (!stands_for_no_file(path, shown.values))
        files.push_back(
            {.option = shown.names.back(), .path = std::move(path), .use = *declared.row.traits.file});
    }
  }
  return files;
}

}  // namespace cg2d
