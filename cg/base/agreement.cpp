#include "cg/base/agreement.hpp"

namespace cg2d {

void Agreement::reach() {
  const std::int64_t nobody = group_.size();
  const std::int64_t failed = group_.minimum(failure_ ? std::int64_t{group_.rank()} : nobody);
  if (failed == nobody) return;
  // The failed rank's text is everybody's: gathered, since only rank 0 can broadcast.
  const auto code = group_.maximum(failed == group_.rank() ? static_cast<std::int64_t>(failure_->code()) : 0);
  const auto texts =
      group_.gather_all(failed == group_.rank() ? std::string(failure_->what()) : std::string());
  throw RunError(static_cast<ExitCode>(code), texts[static_cast<std::size_t>(failed)]);
}

}  // namespace cg2d
