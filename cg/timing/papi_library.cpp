#include "cg/timing/papi_library.hpp"

#include <fmt/format.h>
#include <papi.h>

#include "cg/base/errors.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {

void start_papi() {
  if (PAPI_is_initialized() != PAPI_NOT_INITED) return;
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version == PAPI_VER_CURRENT) return;
  throw RunError(ExitCode::unavailable,
                 fmt::format("--papi: PAPI did not start: {}",
                             version > 0 ? "it is of another version than the one that cg2d was built with"
                                         : PAPI_strerror(version)));
}

std::string why_papi_is_disabled() {
  const auto* component = PAPI_get_component_info(perf_component);
  if (component == nullptr) return "it was built without perf events";
  return component->disabled == 0 ? std::string() : std::string(component->disabled_reason);
}

std::string counting_remedy() {
  const auto paranoid = perf_event_paranoid();
  const std::string setting = paranoid ? fmt::format("kernel.perf_event_paranoid is {}", *paranoid)
                                       : std::string("kernel.perf_event_paranoid is not there");
  const auto* hardware = PAPI_get_hardware_info();
  if (hardware != nullptr && hardware->virtualized != 0) {
    return fmt::format(
        "this is a virtual machine: its host must pass the processor's counters on (virtual PMU), or run on "
        "the hardware itself ({})",
        setting);
  }
  constexpr int most_paranoid_that_counts = 2;
  if (!paranoid || *paranoid > most_paranoid_that_counts)
    return fmt::format("{}: set it to 2 or less (sysctl kernel.perf_event_paranoid=2)", setting);
  return fmt::format("this processor or its driver has no such counter ({})", setting);
}

std::optional<std::string> papi_version() {
  start_papi();
  const auto version = static_cast<unsigned>(PAPI_get_opt(PAPI_LIB_VERSION, nullptr));
  return fmt::format("{}.{}.{}.{}", PAPI_VERSION_MAJOR(version), PAPI_VERSION_MINOR(version),
                     PAPI_VERSION_REVISION(version), PAPI_VERSION_INCREMENT(version));
}

}  // namespace cg2d
