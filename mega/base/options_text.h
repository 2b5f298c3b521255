// How options read in messages and tables, and how they are found by name: shared by the parts of options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mega/base/options.h"

namespace mega::internal {

// Of full precision, and without an exponent where a person would not write one.
std::string number_text(double number);

// What may be put there: "a whole number, 0 to 1024".
std::string type_text(const OptionNode& node);

// What is there: "16", "1,2,3".
std::string value_text(const OptionNode& node);

std::string dotted(const std::string& group, const std::string& name);

// The options of a group, those of the chosen kind of each variant included.
std::vector<OptionNode> with_variant_fields(const std::vector<OptionNode>& nodes);

// By its name, or by one that it had.
const OptionNode* find_option(const std::vector<OptionNode>& nodes, std::string_view name);

// Tells the user, on standard error, of an option that was found under an old name.
void note_old_name(const OptionNode& node, const std::string& group, const std::string& name);

// For a `name` that the group `key` does not have: "unknown option "widht"; did you mean model.block.width?"
std::string unknown_option_text(const std::vector<OptionNode>& root, const std::vector<OptionNode>& known,
                                const std::string& key, const std::string& name);

// Throws if a number is not finite or out of its range; nothing to check for other options.
void check_range(const OptionNode& node, const std::string& where);

}  // namespace mega::internal
