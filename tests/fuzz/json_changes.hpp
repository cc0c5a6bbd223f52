#pragma once

// Changes of JSON that remain JSON: most changes of single bytes would end in the parser of the library.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t count, size_t most);

namespace cg2d::fuzz {

using Json = nlohmann::ordered_json;
using Random = std::minstd_rand;

inline void collect(Json& json, std::vector<Json*>& all) {
  all.push_back(&json);
  if (!json.is_structured()) return;
  for (auto& member : json) collect(member, all);
}

/// Values at the borders of what readers expect.
inline Json odd_value(Random& random) {
  static const auto values = [] {
    auto all =
        Json::parse(R"([null, true, false, 0, -1, 1, 2, 1.5, 1e-300, 1e308, -0.0, 2147483647, 2147483648,
                               -2147483649, 9223372036854775807, 18446744073709551615, "", "a\nb\u001b[31m",
                               "auto", [], {}])");
    all.push_back(std::string(300, 'x'));
    return all;
  }();
  return values.at(random() % values.size());
}

inline std::string mutated_text(std::string text) {
  const auto size = text.size();
  text.resize(size + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
  return text;
}

inline void erase_one(Json& json, size_t index) {
  if (json.empty()) return;
  auto place = json.begin();
  std::advance(place, static_cast<ptrdiff_t>(index % json.size()));
  json.erase(place);
}

inline void mutate_one(Json& top, Random& random) {
  std::vector<Json*> all;
  collect(top, all);
  Json& json = *all[random() % all.size()];
  const Json copy = *all[random() % all.size()];
  switch (random() % 6) {
    case 0:
      if (json.is_structured()) return erase_one(json, random());
      break;
    case 1:
      if (json.is_array()) return json.push_back(copy);
      if (json.is_object()) return static_cast<void>(json[mutated_text("key")] = copy);
      break;
    case 2:
      if (json.is_string()) return static_cast<void>(json = mutated_text(json.get<std::string>()));
      break;
    case 3:
      json = copy;
      return;
    default:
      break;
  }
  json = odd_value(random);
}

}  // namespace cg2d::fuzz
