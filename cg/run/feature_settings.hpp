#pragma once

// The options of features, as the command line declares and keeps them, without a member for each.

#include <any>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <typeindex>

namespace cg2d {

/// An option of a feature. Its value is a text, which the feature reads; a flag has none.
struct FeatureOption {
  std::string_view name;          ///< "--stall-limit"
  std::string_view value;         ///< the kind of value, such as "TIME"; empty: the option is a flag
  std::string_view default_text;  ///< of its help; empty: none
  std::string_view group;         ///< of the help
  std::string_view help;
};

/// The options that were given, with their texts.
using OptionTexts = std::map<std::string, std::string, std::less<>>;

/// Settings of features, one object of a type of its own for each.
class FeatureSettings {
 public:
  /// The default value where none has been set.
  template <typename Settings>
  [[nodiscard]] const Settings& of() const {
    static const Settings none{};
    const auto found = values_.find(typeid(Settings));
    return found == values_.end() ? none : *std::any_cast<Settings>(&found->second);
  }
  template <typename Settings>
  void set(Settings settings) {
    values_[typeid(Settings)] = std::move(settings);
  }

 private:
  std::map<std::type_index, std::any> values_;
};

}  // namespace cg2d
