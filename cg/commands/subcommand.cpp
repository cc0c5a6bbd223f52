#include "cg/commands/subcommand.hpp"

#include <CLI/CLI.hpp>

namespace cg2d {
namespace {

/// A file of options may say that a flag is not.
bool is_given(const CLI::Option& option) {
  const bool is_flag = option.get_items_expected_max() == 0;
  return option.count() > 0 && (!is_flag || option.as<bool>());
}

}  // namespace

// ---------------------------------------------------------------- options

OptionForm::OptionForm(const std::string& text)
    : names(text.substr(0, text.find(' '))), kind(text.substr(std::min(text.size(), names.size() + 1))) {
  const auto all = split_at(names, ',');
  const auto found = std::ranges::find_if(all, [](const auto& each) { return each.starts_with("--"); });
  name = found == all.end() ? names : *found;
}

void Subcommand::describe(const std::string& description, std::initializer_list<std::string_view> examples) {
  parser_.description(description);
  parser_.footer(fmt::format("Examples:\n  {}", fmt::join(examples, "\n  ")));
}

void Subcommand::begin_group(const std::string& title) { parser_.option_defaults()->group(title); }

void Subcommand::add_texts(const std::string& form, const std::string& help,
                           std::function<void(const Texts&)> take, const OptionTraits& traits) {
  const OptionForm parts(form);
  const bool is_argument = !form.starts_with('-');
  const bool is_flag = !is_argument && parts.kind.empty();
  auto* const option = is_flag ? parser_.add_flag_callback(
                                     parts.names, [] {}, help)
                               : parser_.add_option(parts.names, CLI::callback_t{}, help);
  declared_.push_back({.form = parts, .traits = traits, .option = option, .take = std::move(take)});
  if (is_flag) return;
  option->type_name(parts.kind)->default_str(traits.standing)->required(traits.is_required);
  if (traits.is_list) option->expected(CLI::detail::expected_max_vector_size);
  if (traits.is_list && !is_argument && !traits.is_repeated) option->delimiter(',');
  if (traits.is_repeated) option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (!traits.file) return;
  option->check([](const std::string& text) {
    return std::string(text.empty() ? "the name of the file is empty" : "");
  });
}

void Subcommand::require_with(const std::string& option, const std::string& other) {
  parser_.get_option(option)->needs(parser_.get_option(other));
}

void Subcommand::exclude(const std::string& option, const std::string& other) {
  parser_.get_option(option)->excludes(parser_.get_option(other));
}

void Subcommand::exclude_others(const std::string& option, const std::vector<std::string>& allowed) {
  auto* const asking = parser_.get_option(option);
  for (const auto& other : declared_) {
    const auto has_name = [&](const std::string& name) { return other.option->check_name(name); };
    if (other.option != asking && std::ranges::none_of(allowed, has_name)) asking->excludes(other.option);
  }
}

void Subcommand::convert() const {
  for (const auto& declared : declared_) {
    if (declared.take && is_given(*declared.option)) declared.take(declared.option->results());
  }
  check();
}

bool Subcommand::has(std::string_view option) const {
  const auto* const found = parser_.get_option_no_throw(std::string(option));
  return found != nullptr && is_given(*found);
}

Subcommand::Texts Subcommand::texts_of(std::string_view option) const {
  const auto* const found = parser_.get_option_no_throw(std::string(option));
  return found == nullptr ? Texts{} : found->results();
}

std::string Subcommand::text_of(std::string_view option) const {
  const auto texts = texts_of(option);
  return texts.empty() ? std::string() : texts.front();
}

void Subcommand::refuse(const std::vector<std::string_view>& options, std::string_view reason) const {
  for (const auto option : options) {
    if (has(option)) throw InputError("{}: {}", option, reason);
  }
}

std::vector<FileOption> Subcommand::named_files() const {
  std::vector<FileOption> files;
  for (const auto& [form, traits, option, take] : declared_) {
    auto texts = option->results();
    if (texts.empty() && traits.uses_default_file) texts.push_back(traits.standing);
    for (const auto& text : texts) {
      constexpr std::string_view prefix = "file:";
      if (text.starts_with(prefix) && form.kind.find("file:FILE") != std::string::npos)
        files.push_back({form.name, text.substr(prefix.size()), FileUse::reads});
      if (!traits.file) continue;
      for (const auto& path : form.kind.ends_with(",...") ? split_at(text, ',') : Texts{text})
        files.push_back({form.name, path, *traits.file});
    }
  }
  return files;
}

}  // namespace cg2d
