#pragma once

// The schedules of a group as persistent messages, also for transports that need one beside their own.

#include <memory>

#include "comm/prepared_operation.hpp"
#include "comm/transfer.hpp"

namespace cg2d::comm {

/// The steps of task.schedule, one after the other. The endpoint must outlive them. Collective over the
/// members.
std::unique_ptr<PreparedOperation> make_scheduled_steps(const Endpoint& endpoint, const GroupTask& task);

}  // namespace cg2d::comm
