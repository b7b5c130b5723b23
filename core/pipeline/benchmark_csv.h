// The checkout's shared benchmark CSV: this run's rows in it, and out of it again.
#pragma once

#include <string>
#include <vector>

#include "core/checkout/checkout.h"
#include "core/finalize/pull_request.h"
#include "core/run/session.h"

namespace lwb {

// Puts the stock rows of variant `number`, without those of the `reference` providers, into
// benchmark/data/all_benchmark_data.csv; what it held is kept in the workspace. Done once: a later
// start of the run finds it done. Returns the file with both texts, for the branch.
Result<CommitFile> update_benchmark_csv(Session& session, const Checkout& checkout, int number,
                                        const std::vector<std::string>& reference);

// Puts back what it held, where a start of this run had changed it.
Result<void> revert_benchmark_csv(Session& session, const Checkout& checkout);

}  // namespace lwb
