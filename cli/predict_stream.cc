#include "cli/predict_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/answer_line.h"
#include "cli/interrupt.h"
#include "mega/base/error.h"
#include "mega/base/strings.h"
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
  require(text != nullptr && text->units == TextUnits::bytes,
          "--stream is for models of text bytes or audio; this one reads ",
          text != nullptr
              ? std::string(to_string(text->units)) + ": train it with --set input.units=bytes"
              : std::visit([](const auto& kind) { return std::string(kind.kind); }, signature.input.input));
  constexpr int64_t kText = 2000;
  const int64_t window = text->max_length > 0 ? text->max_length : kText;
  return {std::max<int64_t>(1, window / 8), window, 0.0,
          text->max_length > 0 ? "eight times per training text length"
                               : "eight times per 2,000 bytes, as the model was trained on whole texts"};
}

// Prints and flushes each decision immediately.
class DecisionPrinter {
 public:
  DecisionPrinter(const Signature& signature, const StreamRequest& request, double rate)
      : signature_(signature), line_(signature, request.top), json_(request.json), rate_(rate) {}

  void print(int64_t position, std::span<const float> outputs) const {
    const std::vector<float> answer = infer::to_answer(outputs, signature_);
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
  bool json_;
  double rate_;
};

// Converts input bytes to the model's input: tokens or samples.
class StreamEncoder {
 public:
  StreamEncoder(const Signature& signature, const std::string& name) : signature_(signature) {
    const auto* audio = std::get_if<AudioInput>(&signature.input.input);
    if (audio == nullptr) return;
    require(signature.mean.size() <= 1, "--stream: the model standardises samples by position in the clip (",
            "input.standardize = position), and a stream has no such positions: train it with "
            "input.standardize=channel");
    samples_.emplace(audio->rate, name);
  }

  void feed(std::string_view bytes, ClassifierStream& stream, const ClassifierStream::Decide& decide) {
    if (!samples_) {
      std::vector<int32_t> tokens;
      for (const char byte : bytes) tokens.push_back(kFirstSymbol + static_cast<unsigned char>(byte));
      return stream.feed(tokens, decide);
    }
    std::vector<float> samples = samples_->decode(bytes);
    if (!signature_.mean.empty())
      for (float& x : samples) x = (x - signature_.mean[0]) / signature_.deviation[0];
    stream.feed(samples, decide);
  }

 private:
  const Signature& signature_;
  std::optional<data::SampleDecoder> samples_;
};

}  // namespace

void predict_stream(const StreamRequest& request) {
  const auto model = Classifier::open(request.model);
  const Signature& signature = model->signature();
  const Defaults defaults = defaults_of(signature);
  const bool given = request.every > 0 || request.window >= 0;
  const int64_t every = request.every > 0 ? request.every : defaults.every;
  ClassifierStream stream(model, std::make_shared<infer::ThreadPool>(request.threads),
                          {every, request.window >= 0 ? request.window : defaults.window});
  RawInput input(request.input);
  StreamEncoder encoder(signature, input.name());
  const char* unit = defaults.rate > 0.0 ? "samples" : "bytes";
  std::fprintf(stderr, "one decision every %s %s, over %s%s%s\n", with_thousands(every).c_str(), unit,
               stream.window() > 0 ? ("the last " + with_thousands(stream.window())).c_str()
                                   : "everything since the start",
               given ? "" : ": ", given ? "" : defaults.reason.c_str());
  if (model->options().block.chunk < 0)
    std::fprintf(stderr,
                 "warning: this model uses full attention, so memory and time per position grow without "
                 "bound; train with model.block.chunk=N for streaming\n");

  const DecisionPrinter printer(signature, request, defaults.rate);
  const ClassifierStream::Decide decide = [&](int64_t position, std::span<const float> outputs) {
    if (!InterruptGuard::interrupted()) printer.print(position, outputs);
  };
  const InterruptGuard guard;
  for (std::string_view bytes = input.read(); !bytes.empty(); bytes = input.read())
    encoder.feed(bytes, stream, decide);
  // A last decision for the rest of the input.
  if (stream.position() % every != 0) printer.print(stream.position(), stream.outputs());
}

}  // namespace mega::cli
