#pragma once

// Options that name files: each declares once what the command does with its file, and one check goes over all of them.

#include <CLI/CLI.hpp>
#include <vector>

#include "cg/base/named_files.hpp"

namespace cg2d {

/// The check of the value of an option, or of an argument without a name, that names a file: any text but the empty
/// one. It holds the use of the file, too.
CLI::Validator file_name(FileUse use);

/// One more check of an option whose default is a file that is used where the option is not given; it refuses nothing.
CLI::Validator default_is_a_file();

/// The files that the parsed arguments name, in the order of the help. A value that stands for no file ("ones", "random:1") is
/// left out; of a list of folders ("DIR,...") each is one. Those of defaults are among them where they are declared by
/// default_is_a_file().
std::vector<FileOption> named_files(CLI::App& parser);

}  // namespace cg2d
