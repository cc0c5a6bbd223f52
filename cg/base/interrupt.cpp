#include "cg/base/interrupt.hpp"

#include <csignal>

namespace cg2d {
namespace {

// A signal handler can reach nothing but a flag like this one.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t interrupt_asked = 0;
// The handlers belong to the process, so their users are counted for the process.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
int watch_count = 0;

extern "C" void note_interrupt(int) { interrupt_asked = 1; }

void set_handler(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptWatch::InterruptWatch(bool heeded) : heeded_(heeded) {
  if (watch_count++ > 0) return;
  interrupt_asked = 0;
  for (const int signal : {SIGINT, SIGTERM})
    set_handler(signal, &note_interrupt, static_cast<int>(SA_RESETHAND) | SA_RESTART);
}

InterruptWatch::~InterruptWatch() {
  if (--watch_count > 0) return;
  for (const int signal : {SIGINT, SIGTERM}) set_handler(signal, SIG_DFL, 0);
}

bool InterruptWatch::asked() const { return heeded_ && interrupt_asked != 0; }

}  // namespace cg2d
