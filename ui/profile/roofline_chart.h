// The measured roof over the size of the working set, and where each pass of each call stands under
// it. Bytes per second are bytes the call must move over its op time, so a point above the roof is
// one that was served from L2.
#pragma once

#include "core/base/json.h"
#include "ui/charts/chart_widget.h"

namespace lwb {

// `profile`: the profile's event. Empty where it has no rows.
Chart roofline_chart(const Json& profile);

}  // namespace lwb
