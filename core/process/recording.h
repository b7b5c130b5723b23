// Recording and replay of the process seam (design rule 2): what was asked, matched by content.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/process/process.h"

namespace lwb {

// The layout of a recording's lines; a file of another number is refused.
inline constexpr int kRecordingSchema = 1;

// What a recording says of itself.
struct RecordingHeader {
  int schema = kRecordingSchema;
  std::string recorded_on;  // GPU name
  std::string recorded_at;  // ISO date
  std::string program_version;
  std::vector<std::string> techniques;  // replay offers just these to the optimizer
  int journal_schema = 1;
};

// Paths that differ from machine to machine, replaced by tokens in keys, standard input and output:
// {"/home/me/liger": "@CHECKOUT@"}. The longest path is replaced first, also where JSON wrote its
// letters beyond ASCII as \uXXXX; "/home/me/liger2" is not "/home/me/liger". Several paths may have
// one token (a folder and what its symbolic link leads to): expand() takes the first of them.
struct PathTokens {
  std::vector<std::pair<std::string, std::string>> path_to_token;
  std::string tokenize(std::string text) const;
  std::string expand(std::string text) const;
};

// SHA-256 over the program's base name (python3, python3.12: python), the tokenized arguments and
// standard input, and the hash of each input file's tokenized content (of a folder: its files' in
// order of their names). Environment and position do not count.
std::string recording_key(const ProcessSpec& spec, const PathTokens& tokens);

// Passes every call on to `inner` and appends it to `file` (one JSON line per call, the header
// first; an earlier file is replaced). A call that the user stopped is not recorded. A line that
// cannot be written is an Error of run().
std::unique_ptr<ProcessRunner> make_recorder(ProcessRunner& inner, std::filesystem::path file,
                                             RecordingHeader header, PathTokens tokens);

// Answers from `file`: standard output and error with today's paths, line by line to the sink (all
// of standard output first), output files written again, wall time as it was then. A call that was
// not recorded is an Error (kUsage) that names it; its details say what differs from the most
// similar recorded call. Calls recorded more than once under one key are answered in the order of
// recording, the last one repeatedly.
Result<std::unique_ptr<ProcessRunner>> make_replay(const std::filesystem::path& file,
                                                   PathTokens tokens);
Result<RecordingHeader> read_recording_header(const std::filesystem::path& file);

}  // namespace lwb
