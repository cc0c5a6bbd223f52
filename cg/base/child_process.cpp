#include "cg/base/child_process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "cg/base/output_file.hpp"

namespace cg2d {
namespace {

// Variables of launchers: a program of MPI that had them would look for the launcher's other ranks.
constexpr std::array<std::string_view, 8> launcher_prefixes{
    "PMI_", "PMIX_", "PALS_", "HYDI_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_MCA_ess", "OMPI_MCA_orte"};
constexpr int not_started = 127;  ///< as a shell has it

/// The other process, from its start on. Only calls that are safe after a fork of a process with threads.
[[noreturn]] void become(char** words, char** environment) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A signal of the terminal ends this process's parent, which takes it along: one end, not two.
  setpgid(0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  execvpe(words[0], words, environment);
  _exit(not_started);
}

constexpr std::array own_streams{STDOUT_FILENO, STDERR_FILENO};

/// The object that keeps the process's own streams; none where they are not redirected.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): descriptors belong to the process
std::atomic<const RedirectedStreams*> outermost = nullptr;

void flush_streams() {
  std::cout.flush();
  std::fflush(nullptr);
}

}  // namespace

std::string own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw RunError(ExitCode::unavailable, "the program's own place cannot be read");
  return path.string();
}

std::string file_beside_program(std::string_view folder_from_program, std::string_view built_folder,
                                std::string_view file, std::string_view subject, std::string_view remedy) {
  const auto folder = std::filesystem::path(own_program()).parent_path();
  const std::array places{folder / folder_from_program / file, folder / built_folder / file};
  for (const auto& place : places) {
    std::error_code error;
    if (std::filesystem::exists(place, error)) return place.lexically_normal().string();
  }
  throw RunError(ExitCode::unavailable, "{}: {} is missing; {}", subject,
                 places.front().lexically_normal().string(), remedy);
}

ChildEnd run_child(std::vector<std::string> words, std::string_view subject) {
  std::vector<char*> word_pointers;
  for (auto& word : words) word_pointers.push_back(word.data());
  word_pointers.push_back(nullptr);
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (std::ranges::none_of(launcher_prefixes, [&](const auto prefix) { return text.starts_with(prefix); }))
      variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  // Ignored, as some parents leave it, the end of a process is lost.
  if (const auto former = std::signal(SIGCHLD, SIG_DFL); former != SIG_IGN) std::signal(SIGCHLD, former);
  const auto process = fork();
  if (process == 0) become(word_pointers.data(), variables.data());
  if (process < 0)
    throw RunError(ExitCode::unavailable, "{}: no process can be started: {}", subject, std::strerror(errno));
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.is_started = WEXITSTATUS(status) != not_started, .code = WEXITSTATUS(status)};
}

MemoryFile::MemoryFile() : file_(memfd_create("text", MFD_CLOEXEC)) {
  if (!file_.is_open()) cannot_create("a file in memory");
}

std::string MemoryFile::text() const {
  const auto size = lseek(descriptor(), 0, SEEK_END);
  std::string text(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  if (!read_whole(descriptor(), 0, std::as_writable_bytes(std::span(text)))) cannot_write("a file in memory");
  return text;
}

RedirectedStreams::RedirectedStreams(int output, int errors) {
  flush_streams();
  for (size_t k = 0; k < own_streams.size(); ++k)
    kept_.at(k) = fcntl(own_streams.at(k), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept_[0] < 0 || kept_[1] < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
    cannot_create("a copy of standard output");
  if (outermost == nullptr) outermost = this;
}

RedirectedStreams::~RedirectedStreams() {
  if (outermost == this) outermost = nullptr;
  lead_back();
  for (const int kept : kept_) close(kept);
}

void RedirectedStreams::lead_back() const noexcept {
  flush_streams();
  for (size_t k = 0; k < own_streams.size(); ++k) dup2(kept_.at(k), own_streams.at(k));
}

void RedirectedStreams::undo() noexcept {
  if (const auto* const streams = outermost.load()) streams->lead_back();
}

}  // namespace cg2d
