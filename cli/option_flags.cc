#include "cli/option_flags.h"

#include <algorithm>
#include <cmath>

#include "mega/base/options/options_io.h"
#include "mega/base/options/options_text.h"

namespace mega::cli {
namespace {

std::string flag_of(const OptionNode& node) {
  std::string flag = "--" + node.name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

struct FlagAdder {
  CLI::App& command;
  const OptionNode& node;

  void operator()(bool* value) const { command.add_flag(flag_of(node), *value, node.help); }
  void operator()(int64_t* value) const { add_number(*value); }
  void operator()(double* value) const { add_number(*value); }
  void operator()(std::string* value) const {
    command.add_option(flag_of(node), *value, node.help)->capture_default_str();
  }
  void operator()(const GroupRef& group) const { add_flags(command, group.fields()); }
  void operator()(const ListRef& list) const {
    const auto append = [list](const std::string& text) {
      list.resize(list.size() + 1);
      internal::read_option(list.element(list.size() - 1), text, "");
    };
    command.add_option_function<std::string>(flag_of(node), append, node.help + "; may be repeated")
        ->trigger_on_parse()
        ->allow_extra_args(false);
  }
  void operator()(const ChoiceRef& choice) const {
    command.add_option_function<std::string>(flag_of(node), choice.set, node.help)
        ->default_str(choice.get())
        ->check(CLI::IsMember(choice.names));
  }
  void operator()(const VariantRef& variant) const { (*this)(variant.kind); }

 private:
  template <class Number>
  void add_number(Number& value) const {
    const Range range = node.range.value_or(Range{-HUGE_VAL, HUGE_VAL});
    const auto check = [range, type = internal::type_text(node)](const std::string& text) {
      Number number{};
      const bool within = CLI::detail::lexical_cast(text, number) &&
                          static_cast<double>(number) >= range.low &&
                          static_cast<double>(number) <= range.high;
      return within ? std::string() : "expected " + type + ", got " + in_quotes(text);
    };
    command.add_option(flag_of(node), value, node.help)->capture_default_str()->check(check);
  }
};

}  // namespace

void add_flags(CLI::App& command, const std::vector<OptionNode>& nodes) {
  for (const OptionNode& node : nodes) std::visit(FlagAdder{command, node}, node.value);
}

}  // namespace mega::cli
