#pragma once

// The options and the results of features, without a member for each.

#include <any>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>

#include "cg/base/named_files.hpp"

namespace cg2d {

/// One object of each type: a feature has types of its own.
class ObjectsByType {
 public:
  /// nullptr where none has been set.
  template <typename Object>
  [[nodiscard]] const Object* find() const {
    const auto found = values_.find(typeid(Object));
    return found == values_.end() ? nullptr : std::any_cast<Object>(&found->second);
  }
  /// The default value where none has been set.
  template <typename Object>
  [[nodiscard]] const Object& of() const {
    static const Object none{};
    const auto* const found = find<Object>();
    return found == nullptr ? none : *found;
  }
  /// The one that is set, to be changed; the default value where none has been set.
  template <typename Object>
  [[nodiscard]] Object& own() {
    auto& value = values_[typeid(Object)];
    if (!value.has_value()) value = Object{};
    return *std::any_cast<Object>(&value);
  }
  template <typename Object>
  void set(Object object) {
    values_[typeid(Object)] = std::move(object);
  }

 private:
  std::map<std::type_index, std::any> values_;
};
using FeatureSettings = ObjectsByType;
using FeatureResults = ObjectsByType;

/// An option of a feature. A flag has no value.
struct FeatureOption {
  std::string_view name;            ///< "--stall-limit"
  std::string_view value{};         ///< the kind of value, such as "TIME"; empty: the option is a flag
  std::string_view default_text{};  ///< of its help; empty: none
  std::string_view group;           ///< of the help
  std::string_view help;
  std::optional<FileUse> file{};  ///< the value names one
  /// Sets what its text says, where it is given. Throws InputError, which names it.
  void (*read)(const std::string& text, FeatureSettings& settings);
};

}  // namespace cg2d
