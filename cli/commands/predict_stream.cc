#include "cli/commands/predict_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands/answer_line.h"
#include "cli/terminal/interrupt.h"
#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/formats/sample_stream.h"
#include "mega/infer/models/answer.h"
#include "mega/infer/models/classifier_stream.h"
#include "mega/text/tokens.h"

namespace mega::cli {
namespace {

using infer::Classifier;
using infer::ClassifierStream;

// Bytes as they arrive, without waiting for more. Never decompressed: raw samples may look like a compressed
// file.
class RawInput {
 public:
  explicit RawInput(const std::string& path)
      : name_(path == "-" ? "standard input" : path),
        descriptor_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    require(descriptor_ >= 0, name_, ": cannot open: ", std::strerror(errno));
  }
  ~RawInput() {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
  }
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;

  const std::string& name() const { return name_; }

  // Empty at end of input or after Ctrl-C.
  std::string_view read() {
    const InterruptibleRead interruptible;
    while (!InterruptGuard::interrupted()) {
      const ssize_t count = ::read(descriptor_, buffer_.data(), buffer_.size());
      if (count >= 0) return {buffer_.data(), static_cast<size_t>(count)};
      require(errno == EINTR, name_, ": cannot read: ", std::strerror(errno));
    }
    return {};
  }

 private:
  std::string name_;
  int descriptor_;
  std::array<char, 1 << 14> buffer_;
};

// Why input cannot be read as it comes; empty if it can.
std::string why_not_read(const InputOptions& options) {
  if (const auto* audio = std::get_if<AudioInput>(&options.input))
    return audio->standardize != Standardize::position
               ? ""
               : "--stream: the model standardises samples by position in the clip (input.standardize = "
                 "position), and a stream has no such positions: train it with input.standardize=channel";
  const auto* text = std::get_if<TextInput>(&options.input);
  if (text != nullptr && text->units == TextUnits::bytes) return "";
  return "--stream is for models of text bytes or audio; this one reads " +
         (text != nullptr
              ? std::string(to_string(text->units)) + ": train it with --set input.units=bytes"
              : std::visit([](const auto& kind) { return std::string(kind.kind); }, options.input));
}

// Presets whose models can stream as they are.
std::string streaming_presets() {
  std::vector<std::string> able;
  for (const std::string& name : preset_names()) {
    const Recipe recipe = load_preset(name);
    const auto* options = dynamic_cast<const EncoderClassifierOptions*>(&recipe.model.kind());
    if (options != nullptr && infer::why_not_streaming(*options, options->document_count()).empty() &&
        why_not_read(recipe.input).empty())
      able.push_back(name);
  }
  return join(able, ", ");
}

void require_streaming(const Classifier& model) {
  model.encoder();  // an Error if the file does not say what it reads
  std::string obstacle = why_not_read(model.signature().input);
  if (obstacle.empty()) obstacle = infer::why_not_streaming(model.options(), model.documents());
  if (obstacle.empty()) return;
  fail(obstacle, "\npresets whose models can stream: ", streaming_presets());
}

// Decision interval and window where the user does not give them.
struct Defaults {
  int64_t every, window;
  double rate = 0.0;   // positions per second; 0: not a time series
  std::string reason;  // printed next to the defaults
};

Defaults defaults_of(const Signature& signature) {
  if (const auto* audio = std::get_if<AudioInput>(&signature.input.input)) {
    const bool clips = audio->length > 0;
    return {std::max<int64_t>(1, audio->rate / 4), clips ? audio->length : audio->rate,
            static_cast<double>(audio->rate),
            clips ? "four times a second, over the length of a training clip"
                  : "four times a second, over the last second"};
  }
  const auto* text = std::get_if<TextInput>(&signature.input.input);
  constexpr int64_t kText = 2000;
  const int64_t window = text->max_length > 0 ? text->max_length : kText;
  return {std::max<int64_t>(1, window / 8), window, 0.0,
          text->max_length > 0 ? "eight times per training text length"
                               : "eight times per 2,000 bytes, as the model was trained on whole texts"};
}

// Prints and flushes each decision immediately; with --changes, only if it is another than the one before.
class DecisionPrinter {
 public:
  DecisionPrinter(const Signature& signature, const StreamRequest& request, double rate)
      : signature_(signature),
        line_(signature, request.top),
        json_(request.json),
        changes_(request.changes),
        rate_(rate) {}

  void print(int64_t position, std::span<const float> outputs) {
    const std::vector<float> answer = infer::to_answer(outputs, signature_);
    const ptrdiff_t decision = std::max_element(answer.begin(), answer.end()) - answer.begin();
    if (std::exchange(last_, decision) == decision && changes_) return;
    const double seconds = rate_ > 0.0 ? static_cast<double>(position) / rate_ : 0.0;
    if (json_) {
      nlohmann::ordered_json line = {{"position", position}};
      if (rate_ > 0.0) line["seconds"] = seconds;
      line_.add_to(line, answer);
      std::fputs(json_line(line).c_str(), stdout);
    } else {
      char place[32];
      if (rate_ > 0.0)
        std::snprintf(place, sizeof place, "%.3f s", seconds);
      else
        std::snprintf(place, sizeof place, "%lld", static_cast<long long>(position));
      std::printf("%s%s\n", place, line_.plain(answer).c_str());
    }
    require(std::fflush(stdout) == 0, "cannot write to standard output");
  }

 private:
  const Signature& signature_;
  AnswerLine line_;
  bool json_, changes_;
  double rate_;
  ptrdiff_t last_ = -1;
};

// Converts input bytes to the model's input: tokens or samples.
class StreamEncoder {
 public:
  StreamEncoder(const Signature& signature, const StreamRequest& request, const std::string& name)
      : signature_(signature) {
    if (const auto* audio = std::get_if<AudioInput>(&signature.input.input))
      samples_.emplace(audio->rate, name, data::BareSamples{request.rate, request.channels});
    else
      require(request.rate == 0 && request.channels == 1,
              "--rate and --channels are for audio; this model reads text");
  }

  void feed(std::string_view bytes, ClassifierStream& stream, const ClassifierStream::Decide& decide) {
    if (!samples_) {
      std::vector<int32_t> tokens;
      for (const char byte : bytes) tokens.push_back(kFirstSymbol + static_cast<unsigned char>(byte));
      return stream.feed(tokens, decide);
    }
    feed(samples_->decode(bytes), stream, decide);
  }

  // The end of the input.
  void finish(ClassifierStream& stream, const ClassifierStream::Decide& decide) {
    if (samples_) feed(samples_->finish(), stream, decide);
  }

 private:
  void feed(std::vector<float> samples, ClassifierStream& stream, const ClassifierStream::Decide& decide) {
    if (!signature_.mean.empty())
      for (float& x : samples) x = (x - signature_.mean[0]) / signature_.deviation[0];
    stream.feed(samples, decide);
  }

  const Signature& signature_;
  std::optional<data::SampleDecoder> samples_;
};

}  // namespace

void predict_stream(const StreamRequest& request) {
  const auto model = Classifier::open(request.model);
  const Signature& signature = model->signature();
  require_streaming(*model);
  require(!request.changes || !signature.classes.empty(),
          "--changes is for classes; this model predicts numbers");
  const Defaults defaults = defaults_of(signature);
  const bool given = request.every > 0 || request.window >= 0;
  const int64_t every = request.every > 0 ? request.every : defaults.every;
  ClassifierStream stream(model, std::make_shared<infer::ThreadPool>(request.threads),
                          {every, request.window >= 0 ? request.window : defaults.window});
  RawInput input(request.input);
  StreamEncoder encoder(signature, request, input.name());
  const char* unit = defaults.rate > 0.0 ? "samples" : "bytes";
  std::fprintf(stderr, "one decision every %s %s, over %s%s%s\n", with_thousands(every).c_str(), unit,
               stream.window() > 0 ? ("the last " + with_thousands(stream.window())).c_str()
                                   : "everything since the start",
               given ? "" : ": ", given ? "" : defaults.reason.c_str());
  if (model->options().block.chunk < 0)
    std::fprintf(stderr,
                 "warning: this model uses full attention, so memory and time per position grow without "
                 "bound; train with model.block.chunk=N for streaming\n");

  DecisionPrinter printer(signature, request, defaults.rate);
  const ClassifierStream::Decide decide = [&](int64_t position, std::span<const float> outputs) {
    if (!InterruptGuard::interrupted()) printer.print(position, outputs);
  };
  const InterruptGuard guard;
  for (std::string_view bytes = input.read(); !bytes.empty(); bytes = input.read())
    encoder.feed(bytes, stream, decide);
  if (!InterruptGuard::interrupted()) encoder.finish(stream, decide);
  // A last decision for the rest of the input.
  if (stream.position() % every != 0) printer.print(stream.position(), stream.outputs());
}

}  // namespace mega::cli
