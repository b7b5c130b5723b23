// A variant that a person offers to a run: a whole kernel file, laid into the run's inbox by the
// window or `lwb offer`, and taken by the loop as its next variant.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/run/approvals.h"
#include "core/run/journal.h"
#include "core/run/state.h"

namespace lwb {

struct VariantOffer {
  std::string text;             // the kernel file
  std::string title;            // one line: what it changes
  std::string based_on = "v0";  // the variant that was edited
  std::string author = "engineer";
  std::string id;  // set when it is laid down; unique in the inbox
};

// One file in one step. kUsage when the text or the title is empty, kPreflight when the inbox
// cannot be written.
Result<void> offer_variant(const std::filesystem::path& inbox, VariantOffer offer);

// Why the run takes no variant, as one sentence; empty when it does.
std::string offer_problem(const RunState& state);

bool variant_is_offered(const std::filesystem::path& inbox);

// Answers any request with kVariantOffered as soon as one is.
inline constexpr const char* kVariantOffered = "A variant was offered";
std::unique_ptr<ApprovalSource> offered_variants(std::filesystem::path inbox);

// The offer that the run takes as variant `number`: the one that its journal holds for that number
// already, else the oldest in the inbox, which is journaled ("variant_offered") and removed.
// Nothing when there is none. One that cannot be read is put aside as ".read".
Result<std::optional<VariantOffer>> take_offer(Journal& journal, const std::filesystem::path& inbox,
                                               int number);

}  // namespace lwb
