#pragma once

// Another program, run to its end, and files that are installed beside this one.

#include <string>
#include <string_view>
#include <vector>

namespace cg2d {

/// The path of this program. Throws RunError (unavailable).
std::string own_program();
/// A file in a folder that is installed beside this program, or in the tree where it was built: folder_from_program is relative to the
/// program's folder, and built_folder to that of a program that is not installed. Throws RunError (unavailable) that begins with `subject`
/// and ends with `remedy` where it is in neither.
std::string file_beside_program(std::string_view folder_from_program, std::string_view built_folder,
                                std::string_view file, std::string_view subject, std::string_view remedy);

/// How another program ended: by its exit code, by a signal, or it could not be started.
struct ChildEnd {
  bool is_started = true;
  int signal = 0;
  int code = 0;
};

/// Runs words[0] with the other words, found as a shell finds it, with nothing on its standard input and without the variables of a launcher
/// of MPI ranks, and waits for it. A signal that ends this process ends that one, too. Open descriptors without O_CLOEXEC are the other
/// program's, too. Throws RunError (unavailable) that begins with `subject` where no process can be started.
ChildEnd run_child(std::vector<std::string> words, std::string_view subject);

}  // namespace cg2d
