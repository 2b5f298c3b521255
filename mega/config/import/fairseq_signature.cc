#include "mega/config/import/fairseq_signature.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/config/files/model_file.h"
#include "mega/config/import/stand_in_names.h"
#include "mega/text/bpe_tokenizer.h"
#include "mega/text/byte_tokenizer.h"
#include "mega/text/dictionary.h"
#include "mega/text/listops_tokenizer.h"
#include "mega/text/tokens.h"

namespace mega {
namespace {

namespace fs = std::filesystem;

// The classes of the released program for Speech Commands, in its order.
const std::vector<std::string> kSpeechClasses = {"yes",   "no", "up",  "down", "left",
                                                 "right", "on", "off", "stop", "go"};

// A dictionary as a vocabulary: its symbols, one per line.
struct Dictionary {
  std::string path;
  std::string symbols;

  int64_t size() const { return std::count(symbols.begin(), symbols.end(), '\n'); }
};

std::vector<Dictionary> read_dictionaries(const std::vector<fs::path>& paths) {
  std::vector<Dictionary> dictionaries;
  for (const fs::path& path : paths) dictionaries.push_back({path.string(), read_dictionary(path.string())});
  return dictionaries;
}

// The names of the classes, if the dictionary is one of so many.
std::optional<std::vector<std::string>> class_names(const Dictionary& dictionary, int64_t classes) {
  if (dictionary.size() < classes) return std::nullopt;
  std::vector<std::string> names = split(trim(dictionary.symbols), '\n');
  const auto filling = names.begin() + classes;
  if (!std::all_of(filling, names.end(), is_filling)) return std::nullopt;
  names.erase(filling, names.end());
  return names;
}

class Reader {
 public:
  Reader(const SavedArguments& arguments, const ModelOptions& options, const DataFiles& files)
      : arguments_(arguments), options_(options), files_(files) {
    dictionaries_ = read_dictionaries(files.dictionaries);
  }

  ImportedSignature run() {
    const SequenceOptions* sequence = sequence_options(options_);
    require(files_.statistics.empty() || (sequence != nullptr && sequence->input == InputKind::samples),
            files_.statistics.string(), ": statistics are for models of sound");
    if (sequence != nullptr) {
      read_sequence(*sequence);
    } else if (const TokenOptions* tokens = token_options(options_)) {
      refuse_codes();
      refuse_classes();
      result_.signature.input.input = language_input(tokens->vocabulary);
    } else {
      refuse_classes();
      read_translation(*translation_options(options_));
    }
    return std::move(result_);
  }

 private:
  Signature& signature() { return result_.signature; }

  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  void refuse_codes() const {
    require(files_.codes.empty(), files_.codes.string(), ": BPE codes are for translators");
  }

  void refuse_classes() const {
    require(files_.classes.empty(), files_.classes.string(), ": names of classes are for classifiers");
  }

  // Classifiers and matchers. The last of the vocabulary is <CLS>, which is in no dictionary.
  void read_sequence(const SequenceOptions& options) {
    refuse_codes();
    if (!files_.classes.empty()) signature().classes = read_class_names(files_.classes, options.classes);
    const int64_t types = options.vocabulary - reserved_tokens(options);
    for (const Dictionary& dictionary : dictionaries_) {
      const bool fits = options.input == InputKind::tokens && dictionary.size() + kFirstSymbol == types;
      const auto names = class_names(dictionary, options.classes);
      if (fits && signature().vocabulary.empty())
        signature().vocabulary = dictionary.symbols;
      else if (names && signature().classes.empty())
        signature().classes = *names;
      else
        fail(dictionary.path, ": has ", dictionary.size(), " symbols, expected ",
             options.input == InputKind::tokens ? std::to_string(types - kFirstSymbol) + " for tokens, or "
                                                : "",
             options.classes, " for classes");
    }
    const bool speech = options.input == InputKind::samples;
    if (signature().classes.empty() && speech && options.classes == std::ssize(kSpeechClasses))
      signature().classes = kSpeechClasses;
    if (signature().classes.empty()) {
      signature().classes = numbers_as_names(options.classes);
      note("classes are called 0 to " + std::to_string(options.classes - 1) +
           ": name the dictionary of labels with --dict, or a file of names with --classes");
    }
    if (options.input == InputKind::tokens)
      read_texts(types, options_.kind().max_length());
    else if (speech)
      read_sound(options_.kind().max_length());
    else
      read_images(options_.kind().max_length());
  }

  // Texts as the released program had them: symbols with blanks between them. Where symbols are numbers of
  // bytes, or the words of ListOps, it is known how they come from plain text.
  TextUnits units_of_vocabulary() {
    if (is_byte_vocabulary(signature().vocabulary)) {
      note("symbols of the dictionary are bytes: text is read and written as it is");
      return TextUnits::bytes;
    }
    return is_listops_vocabulary(signature().vocabulary) ? TextUnits::listops : TextUnits::words;
  }

  void read_texts(int64_t types, int64_t max_length) {
    const bool known = !signature().vocabulary.empty();
    if (!known) signature().vocabulary = words_of_numbers(types);
    signature().input.input = TextInput(known ? units_of_vocabulary() : TextUnits::words, max_length);
  }

  std::string words_of_numbers(int64_t types) {
    note("tokens are read and written as their numbers: name the dictionary with --dict");
    return numbers_as_words(types);
  }

  void read_sound(int64_t length) {
    AudioInput input;
    input.length = length;
    input.standardize = Standardize::position;
    signature().input.input = input;
    if (files_.statistics.empty())
      return note(
          "samples are taken as standardised already: the statistics of the training data are not in a "
          "checkpoint; --statistics takes them from a model that was trained on the same data");
    const Signature known =
        read_signature(ModelFile::open(files_.statistics).tensors, files_.statistics.string());
    require(std::ssize(known.mean) == length && known.mean.size() == known.deviation.size(),
            files_.statistics.string(), ": has the mean of ", known.mean.size(), " positions, expected ",
            length);
    signature().mean = known.mean;
    signature().deviation = known.deviation;
  }

  void read_images(int64_t pixels) {
    const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(pixels))));
    require(side * side == pixels, arguments_.where("max_positions"), ": ", pixels,
            " pixels are no square image");
    ImageInput input;
    input.height = input.width = side;
    if (const auto given = arguments_.numbers("pixel_normalization")) {
      require(given->size() == 2, arguments_.where("pixel_normalization"),
              ": expected mean and deviation, got ", given->size(), " numbers");
      input.mean = given->at(0);
      input.deviation = given->at(1);
    }
    signature().input.input = input;
  }

  const Dictionary* one_dictionary(int64_t types) const {
    require(dictionaries_.size() <= 1, "a language model has one dictionary, got ", dictionaries_.size());
    if (dictionaries_.empty()) return nullptr;
    check_size(dictionaries_[0], types);
    return &dictionaries_[0];
  }

  static void check_size(const Dictionary& dictionary, int64_t types) {
    require(dictionary.size() + kFirstSymbol == types, dictionary.path, ": has ", dictionary.size(),
            " symbols, expected ", types - kFirstSymbol, ": the model has ", types, " embeddings, ",
            static_cast<int>(kFirstSymbol), " of them for specials");
  }

  LanguageInput language_input(int64_t types) {
    LanguageInput input;
    const Dictionary* dictionary = one_dictionary(types);
    signature().vocabulary = dictionary != nullptr ? dictionary->symbols : words_of_numbers(types);
    input.units = dictionary != nullptr ? units_of_vocabulary() : TextUnits::words;
    return input;
  }

  void read_translation(const TranslationOptions& options) {
    TranslationInput input;
    input.units = files_.codes.empty() ? TextUnits::words : TextUnits::bpe;
    input.source_language = arguments_.text("source_lang").value_or("");
    input.target_language = arguments_.text("target_lang").value_or("");
    input.max_length = options_.kind().max_length();
    require(dictionaries_.size() <= 2, "a translator has a dictionary for each language, got ",
            dictionaries_.size());
    require(files_.codes.empty() || !dictionaries_.empty(), files_.codes.string(),
            ": codes need the dictionary of their symbols: name it with --dict");
    order_languages(input);
    if (dictionaries_.empty()) {
      signature().vocabulary = words_of_numbers(options.source_types());
      if (options.source_types() != options.vocabulary)
        signature().target_vocabulary = numbers_as_words(options.vocabulary);
    } else {
      check_size(dictionaries_.front(), options.source_types());
      check_size(dictionaries_.back(), options.vocabulary);
      signature().vocabulary = with_codes(dictionaries_.front());
      if (dictionaries_.front().symbols != dictionaries_.back().symbols)
        signature().target_vocabulary = with_codes(dictionaries_.back());
    }
    input.joint = signature().target_vocabulary.empty();
    if (files_.codes.empty())
      note(
          "lines are symbols with blanks between them, as the model's data has them: name the BPE codes with "
          "--codes to translate plain text");
    signature().input.input = std::move(input);
  }

  // dict.de.txt dict.en.txt, as a shell lists them, are not the order of source and target.
  void order_languages(const TranslationInput& input) {
    const auto is_of = [](const Dictionary& dictionary, const std::string& language) {
      return !language.empty() && dictionary.path.ends_with("dict." + language + ".txt");
    };
    if (dictionaries_.size() == 2 && is_of(dictionaries_[0], input.target_language) &&
        is_of(dictionaries_[1], input.source_language))
      std::swap(dictionaries_[0], dictionaries_[1]);
  }

  std::string with_codes(const Dictionary& dictionary) const {
    if (files_.codes.empty()) return dictionary.symbols;
    TokenizerOptions options;
    options.units = TextUnits::bpe;
    options.model = files_.codes.string();
    options.dictionary = dictionary.path;
    return load_bpe_tokenizer(options)->vocabulary();
  }

  const SavedArguments& arguments_;
  const ModelOptions& options_;
  const DataFiles& files_;
  std::vector<Dictionary> dictionaries_;
  ImportedSignature result_;
};

}  // namespace

std::vector<fs::path> dictionaries_beside(const fs::path& checkpoint, const SavedArguments& arguments) {
  const fs::path folder = checkpoint.parent_path();
  std::vector<fs::path> names = {"dict.txt", "dict.label.txt", "src-bin/dict.txt", "label-bin/dict.txt"};
  for (const char* side : {"source_lang", "target_lang"})
    if (const auto language = arguments.text(side); language && language->find('/') == std::string::npos)
      names.push_back("dict." + *language + ".txt");
  std::vector<fs::path> found;
  for (const fs::path& name : names)
    if (std::error_code none; fs::is_regular_file(folder / name, none)) found.push_back(folder / name);
  return found;
}

ImportedSignature fairseq_signature(const SavedArguments& arguments, const ModelOptions& options,
                                    const DataFiles& files) {
  return Reader(arguments, options, files).run();
}

}  // namespace mega
