// Questions to a source model that several readers ask.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/source_model.h"

namespace lwb {

// Calls `visit` for the expression and everything in it, outermost first.
void for_each_expr(const Expr& expr, const std::function<void(const Expr&)>& visit);

// Whether `visit` is true for the expression or anything in it.
bool any_expr(const Expr& expr, const std::function<bool(const Expr&)>& visit);

bool reads(const Expr& expr, std::string_view name);

// The statements that assign to `name`, in source order. (Augmented ones and loop variables too.)
std::vector<const Statement*> assignments(const Function& function, std::string_view name);

// The part of an assignment's value that goes to `name`: an element where both sides are tuples of
// one length, else the whole value. `position` is the index of the name in a tuple target, -1 when
// the target is the name itself. Null for statements without a value.
const Expr* assigned_value(const Statement& statement, std::string_view name,
                           int* position = nullptr);

const Parameter* parameter(const Function& function, std::string_view name);

// The last part of a dotted name.
std::string last_part(const std::string& dotted);

// On one line, white space runs as one blank, cut after `limit` bytes (at a character) with "…".
std::string one_line(const std::string& text, std::size_t limit = 100);

// The jit functions of this file that `function` calls, directly or through others; itself first.
std::vector<const Function*> with_helpers(const SourceModel& model, const Function& function);

// The host functions of this file that `name` (qualified) calls, directly or through others; itself
// first.
std::vector<const Function*> with_callees(const SourceModel& model, const std::string& name);

}  // namespace lwb
