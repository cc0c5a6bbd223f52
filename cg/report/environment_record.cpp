// The machine under a result, and where the result comes from.

#include "cg/machine/environment.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/report/build_info.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/session_report.hpp"

namespace cg2d {
namespace {

const Record<CacheInfo>& cache_record() {
  static const Record<CacheInfo> record{
      "cache",
      {
          {"level", integer_type(1, 4), &CacheInfo::level},
          {"bytes", count_type(), &CacheInfo::byte_count},
          {"shared_by_cores", positive_count_type(), &CacheInfo::shared_by_cores},
      }};
  return record;
}

FigureType processor_list_type() { return pattern_type("^[-,0-9]*$"); }

/// The place of a rank; with the places of its threads, where they are known.
struct SeenPlace {
  const RankAffinity& place;
  const std::vector<std::string>* threads = nullptr;
};

const Record<SeenPlace>& place_record() {
  static const Record<SeenPlace> record{
      "place",
      {
          {"node", count_type(), [](const auto& seen) { return seen.place.node; }, "Index in nodes."},
          {"processors", processor_list_type(), [](const auto& seen) { return seen.place.processors; },
           "Logical processors."},
          {"threads", list_type(processor_list_type(), 1),
           [](const auto& seen) { return seen.threads == nullptr ? Json(nullptr) : Json(*seen.threads); },
           "Where each of the rank's threads might run, once the run had bound them or not.",
           Presence::if_known},
      }};
  return record;
}

std::vector<SeenPlace> seen_places(const SeenEnvironment& seen) {
  const auto* const binding =
      seen.session != nullptr && seen.session->binding ? &*seen.session->binding : nullptr;
  std::vector<SeenPlace> places;
  for (std::size_t rank = 0; rank < seen.environment.ranks.size(); ++rank)
    places.push_back({seen.environment.ranks[rank], binding == nullptr ? nullptr : &binding->ranks[rank]});
  return places;
}

const Record<BindingResult>& binding_record() {
  static const Record<BindingResult> record{
      "binding",
      {
          {"is_bound", flag_type(), &BindingResult::is_bound},
          {"why_not", line_type(), &BindingResult::why_not, "Empty where bound."},
      }};
  return record;
}

Json version_or_null(std::string_view version) { return version.empty() ? Json(nullptr) : Json(version); }

}  // namespace

const Record<NodeInfo>& node_record() {
  static const Record<NodeInfo> record{
      "node",
      {
          {"name", name_type(), &NodeInfo::name, "node 0, node 1, ...; with --hostname that of the host."},
          {"processor", name_type(), &NodeInfo::processor},
          {"cores", positive_count_type(), &NodeInfo::core_count},
          {"ranks", positive_count_type(), &NodeInfo::rank_count},
          {"available_bytes", count_type(),
           [](const auto& node) { return std::max<std::int64_t>(node.memory.available_bytes, 0); }},
          {"governor", or_null(name_type()), [](const auto& node) { return node.governor; },
           "Of the processors' frequency; several where they differ; null: not known, as in most virtual "
           "machines."},
          {"numa_nodes", or_null(positive_count_type()), [](const auto& node) { return node.numa_nodes; }},
          {"load_average",
           {{"type", Json::array({"array", "null"})},
            {"minItems", 3},
            {"maxItems", 3},
            {"items", seconds_type()}},
           [](const auto& node) { return node.load_average; },
           "Of 1, 5 and 15 minutes, before the run."},
          list_figure<NodeInfo>("caches", cache_record(), &NodeInfo::caches),
      }};
  return record;
}

const Record<SeenEnvironment>& environment_record() {
  static const Record<SeenEnvironment> record{
      "environment",
      {
          {"mpi", name_type(), [](const auto& seen) { return seen.environment.mpi_version; }},
          {"blas", name_type(), [](const auto& seen) { return seen.environment.blas; }},
          {"papi", or_null(name_type()),
           [](const auto& /*seen*/) { return version_or_null(build_info::papi_version); },
           "The version that the program was built beside; null: none."},
          {"hwloc", or_null(name_type()),
           [](const auto& /*seen*/) { return version_or_null(build_info::hwloc_version); },
           "Version of the library that named cores and caches; null: the program was built without it, and "
           "read the files of Linux."},
          {"compiler", name_type(), [](const auto& /*seen*/) { return build_info::compiler; }},
          {"flags", text_type(), [](const auto& /*seen*/) { return build_info::flags; }},
          {"build_type", text_type(), [](const auto& /*seen*/) { return build_info::build_type; }},
          {"transparent_huge_pages", or_null(name_type()),
           [](const auto& seen) { return seen.environment.transparent_huge_pages; },
           "The setting of the system where rank 0 runs, such as madvise; null: not known."},
          {"oversubscribed", flag_type(), [](const auto& seen) { return seen.environment.oversubscribed; },
           "Ranks x threads exceed the cores of some node."},
          {"beside_other_tasks", flag_type(),
           [](const auto& seen) { return seen.environment.is_beside_other_tasks(); },
           "Other tasks of a batch ran on the same nodes at the same time: no verdict compares such times."},
          list_figure<SeenEnvironment>(
              "nodes", node_record(),
              [](const SeenEnvironment& seen) -> const auto& { return seen.environment.nodes; }, "", 1),
          numbered_list<SeenEnvironment>("binding", "rank", place_record(), seen_places,
                                         "Where every rank may run by its launcher, in rank order."),
          {"waiting", word_type({"spin", "yield", "block"}),
           [](const auto& seen) {
             return seen.session == nullptr ? absent() : Json(wait_mode_name(seen.session->wait_mode));
           },
           "What a waiting rank does between two polls; block: it does not poll (in SimGrid's simulator)."},
          {"thread_binding", or_null(type_of(binding_record())),
           [](const auto& seen) {
             if (seen.session == nullptr) return absent();
             return json_of(binding_record(), seen.session->binding);
           },
           "Whether each thread was bound to a core: one of its own, or, with one thread per rank and at "
           "least "
           "two "
           "ranks per core, one that ranks share; null: the run did not come to it."},
      }};
  return record;
}

const Record<Provenance>& provenance_record() {
  static const Record<Provenance> record{
      "provenance",
      {
          {"time",
           column(
               labelled(pattern_type(
                            "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[-+][0-9]{2}:[0-9]{2}$"),
                        "Date"),
               "date"),
           &Provenance::time, "Of the start, local, with the offset of the zone."},
          {"command", list_type(text_type()), &Provenance::command, "Program and arguments."},
          {"commit", column(pattern_type("^(unknown|[0-9a-f]{40,64})$"), "commit"),
           [](const auto& provenance) { return provenance.commit.hash; },
           "That the program was built from; unknown outside of a work tree of git."},
          {"tree_changed", or_null(flag_type()),
           [](const auto& provenance) { return provenance.commit.tree_changed; },
           "Whether files that git tracks differed from it; null: not known."},
          {"kernel", name_type(), &Provenance::kernel},
          {"libc", name_type(), &Provenance::libc},
          {"variables", map_type(text_type()),
           [](const auto& provenance) {
             auto variables = Json::object();
             for (const auto& [name, value] : provenance.variables) variables[name] = value;
             return variables;
           },
           "Of rank 0's environment, for OpenMP, MPI and its networks, OpenBLAS and PAPI; those about hosts "
           "only "
           "with --hostname."},
      }};
  return record;
}

}  // namespace cg2d
