#include "cg/base/storage/node_room.hpp"

#include <fmt/format.h>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

void require_room(const RoomNeeded& needed, comm::RankGroup& group) {
  struct Share {
    int node = 0;
    FolderRoom room{};
    std::int64_t byte_count = 0;
  };
  Share mine{.node = needed.node, .byte_count = needed.byte_count};
  agree_on(group, [&] { mine.room = folder_room(needed.folder); });
  std::int64_t sum = 0;
  for (const auto& share : group.gather_one(mine)) {
    if (share.node == mine.node && share.room.device == mine.room.device)
      sum = saturated_sum(sum, share.byte_count);
  }
  agree_on(group, [&] {
    if (sum <= mine.room.available_bytes) return;
    throw RunError(
        ExitCode::cannot_create,
        fmt::format("{} {}: not enough room: {} are needed on its device, {} are available", needed.option,
                    needed.folder, format_bytes(sum), format_bytes(mine.room.available_bytes)));
  });
}

}  // namespace cg2d
