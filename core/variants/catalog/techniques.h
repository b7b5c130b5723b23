// One maker for each technique file; the list is in catalog.cpp.
#pragma once

#include <memory>

#include "core/variants/technique.h"

namespace lwb {

std::unique_ptr<Technique> make_loop_pipelining();
std::unique_ptr<Technique> make_round_robin_rows();
std::unique_ptr<Technique> make_programs_per_sm();
std::unique_ptr<Technique> make_uninitialized_buffers();

}  // namespace lwb
