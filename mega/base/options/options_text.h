// Options as text in messages and tables, and lookup by name: shared by options.cc and options_io.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mega/base/options/options.h"

namespace mega::internal {

// Full precision, with an exponent only for very large or small numbers.
std::string number_text(double number);

// The allowed values: "a whole number, 0 to 1024".
std::string type_text(const OptionNode& node);

// The current value: "16", "1,2,3".
std::string value_text(const OptionNode& node);

std::string dotted(const std::string& group, const std::string& name);

// The options of a group, including those of the chosen kind of each variant.
std::vector<OptionNode> with_variant_fields(const std::vector<OptionNode>& nodes);

// Finds an option by its current or an old name.
const OptionNode* find_option(const std::vector<OptionNode>& nodes, std::string_view name);

// Prints a note to standard error if the option was found under an old name.
void note_old_name(const OptionNode& node, const std::string& group, const std::string& name);

// For a `name` that the group `key` does not have: "unknown option "widht"; did you mean model.block.width?"
std::string unknown_option_text(const std::vector<OptionNode>& root, const std::vector<OptionNode>& known,
                                const std::string& key, const std::string& name);

// Throws if a number is not finite or out of range; no effect for other options.
void check_range(const OptionNode& node, const std::string& where);

}  // namespace mega::internal
