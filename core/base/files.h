// Files: reading, atomic and durable writing, hashes. The only place that writes a user's file.
// Errors are of kind kPreflight (the disk or the permissions are not as needed) and name the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace lwb {

namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& file);

// Writes `content` to a temporary file in the same folder, fsyncs it, renames it over `file` and
// fsyncs the folder: after a crash at any moment `file` holds the old bytes or the new ones. Keeps
// the permission bits of an existing file (and its owner where we may); of a symbolic link, the
// file it points to is written and the link stays. Creates missing parent folders. On failure the
// old file is untouched and no temporary file is left.
Result<void> write_file_atomically(const fs::path& file, std::string_view content);

std::string sha256_hex(std::string_view bytes);
Result<std::string> sha256_of_file(const fs::path& file);

// Copies a tree: regular files (with their permission bits) and folders; symbolic links are
// followed when they stay inside, and left out when they do not, lead nowhere, or would never end
// (a folder inside itself). Sockets, pipes and devices are left out, and `to` itself where it lies
// inside `from`. `skip(relative path)` true leaves an entry out.
Result<void> copy_tree(const fs::path& from, const fs::path& to,
                       bool (*skip)(const fs::path& relative) = nullptr);

// Bytes free for an unprivileged user on the file system that holds `path`, which need not exist
// yet.
Result<std::uintmax_t> free_bytes(const fs::path& path);

}  // namespace lwb
