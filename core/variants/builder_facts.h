// What the techniques and the builder ask of launches and their host functions.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/queries.h"
#include "core/variants/technique.h"

namespace lwb {

// The records of the trace that this launch made.
std::vector<const LaunchRecord*> records_of(const TechniqueContext& context, const Launch& launch);

// The jit function of this file that is launched; null when another file defines it.
const Function* kernel_of(const SourceModel& model, const Launch& launch);

// What triton.language is called in the file ("tl"); "" when it is not imported as a whole.
std::string triton_language_alias(const SourceModel& model);

// A name that is assigned just once (and is no parameter) stands for what it was assigned.
const Expr& resolved(const Function& function, const Expr& expr);

// Equal but for white space.
bool same_text(const std::string& a, const std::string& b);

// `numerator` and `denominator` when the expression is a division that rounds up; else null.
struct CeilDivision {
  const Expr* numerator = nullptr;
  const Expr* denominator = nullptr;
};
CeilDivision ceil_division(const Expr& expr);

// Where `name` stands as an identifier in the text of `span`: not in strings and comments, not as
// an attribute.
std::vector<std::size_t> occurrences(const std::string& text, const Span& span,
                                     const std::string& name);

std::size_t line_begin(const std::string& text, std::size_t position);
// The place after the line end of the line that holds `position`.
std::size_t next_line(const std::string& text, std::size_t position);
int line_number(const std::string& text, std::size_t position);

// The deepest statement list that holds all the statements: index of their common parent, -1 for
// the function's own.
int common_parent(const Function& function, const std::vector<int>& statements);
// The statement of the list below `parent` that holds `statement` (or is it).
int ancestor_below(const Function& function, int statement, int parent);

// A comment line of its own before the statement.
Edit comment_before(const SourceModel& model, const Statement& statement, const std::string& comment,
                    const std::string& technique);

// Integer variables of the host function that tell the launch's shapes apart and have their values
// before `position`; empty when there are none.
std::vector<std::string> features_at(const TechniqueContext& context, const Launch& launch,
                                     std::size_t position);
// A tensor among the launch's arguments that has its value before `position`; "" when there is none.
std::string tensor_at(const TechniqueContext& context, const Launch& launch, std::size_t position);

// The launch can be given settings: it ran, and its kernel does not tune itself. Else the reason.
bool tunable(const TechniqueContext& context, const Launch& launch, std::string* reason);

// A name starting with `wanted` that stands nowhere in the file.
std::string unique_name(const SourceModel& model, const std::string& wanted);

}  // namespace lwb
