// The sample that comes with the program, for trying it without a checkout.
#pragma once

#include <QString>

namespace lwb {

// A fresh copy in the cache folder, made as packaging/run.sh makes it (the recording matches only such
// a copy). Empty, with `problem`, when it cannot be made. Takes some ten milliseconds of git.
QString copy_of_sample(QString& problem);

// The recording of a run on it; empty when it is not there.
QString sample_recording();

constexpr const char* kSampleKernel = "scale_norm";

}  // namespace lwb
