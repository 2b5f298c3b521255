#include "bench/decode.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "bench/random_model.h"
#include "mega/base/aligned.h"
#include "mega/base/error.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/infer/quantize.h"
#include "mega/infer/session.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"
#include "mega/text/tokens.h"

namespace mega::bench {
namespace {

using infer::CacheType;
using infer::Session;

// A buffer larger than any cache, read by all threads.
class Memory {
 public:
  explicit Memory(infer::ThreadPool& pool) : pool_(pool), words_(kBytes / sizeof(uint64_t), 1) {}

  double bytes_per_second() {
    std::vector<uint64_t> sums(kPieces);
    const double seconds = seconds_of([&] {
      pool_.run(kPieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t piece = begin; piece < end; ++piece) sums[static_cast<size_t>(piece)] = sum(piece);
      });
    });
    uint64_t total = 0;
    for (const uint64_t sum : sums) total += sum;
    require(total == words_.size(), "the sum of the memory buffer is wrong");
    return static_cast<double>(kBytes) / seconds;
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 29, kPieces = 64;

  // Several streams and prefetching: the fastest of the plain loops we tried.
  uint64_t sum(int64_t piece) const {
    constexpr size_t kWords = kBytes / sizeof(uint64_t) / kPieces, kLine = 8, kStreams = 4;
    constexpr size_t kStrip = kWords / kStreams, kAhead = 8 * kLine;
    const uint64_t* words = words_.data() + static_cast<size_t>(piece) * kWords;
    uint64_t sums[kLine] = {};
    for (size_t i = 0; i < kStrip; i += kLine) {
      for (size_t stream = 0; stream < kStreams; ++stream) {
        const uint64_t* line = words + stream * kStrip + i;
        __builtin_prefetch(line + kAhead);
        for (size_t k = 0; k < kLine; ++k) sums[k] += line[k];
      }
    }
    uint64_t total = 0;
    for (const uint64_t sum : sums) total += sum;
    return total;
  }

  infer::ThreadPool& pool_;
  AlignedVector<uint64_t> words_;
};

std::vector<int32_t> tokens(int64_t count, int64_t vocabulary) {
  std::vector<int32_t> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(static_cast<int32_t>(kFirstSymbol + i * 7919 % (vocabulary - kFirstSymbol)));
  return result;
}

// Token by token, as in generation.
void decode(std::span<Session* const> sessions, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int32_t> next;
    std::vector<std::span<const int32_t>> parts;
    for (size_t s = 0; s < sessions.size(); ++s)
      next.push_back(kFirstSymbol + static_cast<int32_t>((i + static_cast<int64_t>(s)) % 100));
    for (const int32_t& token : next) parts.emplace_back(&token, 1);
    infer::feed_together(sessions, parts);
    infer::predict_together(sessions);
  }
}

// Decodes repeatedly from a fixed position, a slice at a time, so that all cases are exposed to the same
// noise of the machine.
struct Case {
  DecodeRow row;
  std::shared_ptr<const Session> start;
  int64_t count = 0;  // tokens per session before it restarts
  std::vector<Session> sessions;
  int64_t done = 0;
  double seconds = 0.0, tokens = 0.0;  // of the current round
  std::vector<double> rounds;          // seconds per token

  void slice(int64_t most) {
    if (sessions.empty() || done == count) {
      sessions.assign(static_cast<size_t>(row.batch), *start);
      done = 0;
    }
    std::vector<Session*> pointers;
    for (Session& session : sessions) pointers.push_back(&session);
    const int64_t now = std::min(most, count - done);
    seconds += seconds_of([&] { decode(pointers, now); });
    tokens += static_cast<double>(now * row.batch);
    done += now;
  }

  void end_round() {
    rounds.push_back(seconds / tokens);
    seconds = tokens = 0.0;
    sessions.clear();
  }
};

// A whole prompt at once.
struct PromptCase {
  DecodeRow row;
  std::shared_ptr<const Session> start;
  std::vector<double> times;  // seconds per token

  void run(const std::vector<int32_t>& prompt) {
    Session session = *start;
    times.push_back(seconds_of([&] {
                      session.feed(prompt);
                      session.logits();
                    }) /
                    static_cast<double>(prompt.size()));
  }
};

class Bench {
 public:
  explicit Bench(const DecodeSettings& settings)
      : settings_(settings),
        pool_(std::make_shared<infer::ThreadPool>(settings.threads)),
        model_options_(chunked_language_model(settings.preset)) {
    options_ = std::get<LanguageModelOptions>(model_options_.model);
    const std::filesystem::path f32 = folder_.path() / "f32.safetensors";
    write_random_model(f32, model_options_);
    f32_ = open("f32", f32);
    bf16_ = quantized(f32, kernels::WeightType::bf16);
    int8_ = quantized(f32, kernels::WeightType::i8);
  }

  DecodeTable run() {
    add_cases();
    Memory memory(*pool_);
    const Candidate product = sgemm();
    const auto prompt = tokens(options_.block.chunk, options_.vocabulary);
    std::vector<double> bandwidths, products;
    constexpr int64_t kSlice = 16, kSparse = 8;  // cases of few tokens run in every eighth slice
    const int64_t slices = options_.block.chunk / kSlice;
    Progress progress("decoding", settings_.repeats * slices, "slices");
    for (int round = 0; round < settings_.repeats; ++round) {
      for (int64_t slice = 0; slice < slices; ++slice) {
        for (Case& one : cases_)
          if (slice % kSparse == 0 || one.count == options_.block.chunk) one.slice(kSlice);
        if (slice % 4 == 0) bandwidths.push_back(memory.bytes_per_second());
        if (slice % 4 == 0) products.push_back(product.flops / seconds_of(product.run));
        if (slice % 32 == 0)
          for (PromptCase& one : prompts_) one.run(prompt);
        progress.update(round * slices + slice + 1);
      }
      for (Case& one : cases_) one.end_round();
    }
    return table(median(bandwidths), median(products));
  }

 private:
  struct Model {
    std::string name;
    std::shared_ptr<const infer::LanguageModel> model;
    double bytes = 0.0;  // weight_bytes
  };

  Model open(const std::string& name, const std::filesystem::path& path) const {
    return {name, infer::LanguageModel::open(path), weight_bytes(path)};
  }
  Model quantized(const std::filesystem::path& f32, kernels::WeightType type) const {
    const std::string name = infer::quantized_name(type);
    const std::filesystem::path path = folder_.path() / (name + ".safetensors");
    infer::quantize(f32, path, type);
    return open(name, path);
  }

  // Bytes of the file that one token reads: all tensors, except that it reads only a row of untied
  // embeddings.
  double weight_bytes(const std::filesystem::path& path) const {
    double bytes = 0.0;
    const ModelFile file = ModelFile::open(path);
    for (const TensorView& tensor : file.tensors.tensors())
      if (options_.tie_output || tensor.name != "decoder.embed_tokens.weight")
        bytes += static_cast<double>(tensor.data.size());
    return bytes;
  }

  // Bytes of keys, values and averages that a token at this position of its chunk reads.
  double state_bytes(double place, CacheType cache) const {
    const BlockOptions& block = options_.block;
    const double element = cache == CacheType::bf16 ? 2.0 : 4.0;
    const double keys = (place + 1.0) * static_cast<double>(block.shared + block.values) * element;
    const double averages = static_cast<double>(block.width * block.ema.dimension) * 4.0;
    return static_cast<double>(options_.layers) * (keys + averages);
  }

  DecodeTable table(double bandwidth, double sgemm_rate) const {
    DecodeTable result{bandwidth, sgemm_rate, {}};
    for (const Case& one : cases_) {
      DecodeRow row = one.row;
      row.seconds_per_token = median(one.rounds);
      row.share_of_bandwidth = row.bytes_per_token / row.seconds_per_token / bandwidth;
      result.rows.push_back(row);
    }
    const double flops = 2.0 * model_options_.kind().multiply_adds(options_.block.chunk);
    for (const PromptCase& one : prompts_) {
      DecodeRow row = one.row;
      row.seconds_per_token = median(one.times);
      row.share_of_sgemm = flops / row.seconds_per_token / sgemm_rate;
      result.rows.push_back(row);
    }
    return result;
  }

  // Adds a case: `count` tokens per session, starting at position `first`.
  void add(const Model& model, const std::string& positions, int64_t first, int64_t count, int64_t batch = 1,
           CacheType cache = CacheType::f32) {
    Session start(model.model, pool_, cache);
    if (first > 0) {
      std::fprintf(stderr, "%s: reading up to position %s\n", model.name.c_str(),
                   with_thousands(first).c_str());
      start.feed(tokens(first, options_.vocabulary));
    }
    const double place =
        static_cast<double>(first % options_.block.chunk) + static_cast<double>(count - 1) / 2.0;
    Case one;
    one.row.model = model.name + (cache == CacheType::bf16 ? ", bf16 keys and values" : "");
    one.row.positions = positions;
    one.row.batch = batch;
    one.row.bytes_per_token = model.bytes / static_cast<double>(batch) + state_bytes(place, cache);
    one.start = std::make_shared<const Session>(std::move(start));
    one.count = count;
    cases_.push_back(std::move(one));
  }

  void add_cases() {
    const int64_t chunk = options_.block.chunk, early = std::min<int64_t>(128, chunk);
    const std::string first = "0 to " + std::to_string(early - 1),
                      whole = "a chunk, 0 to " + std::to_string(chunk - 1);
    constexpr int64_t kFew = 8, kBatch = 8;
    for (const int64_t position : {early, chunk / 2, chunk - 1})
      add(f32_, std::to_string(position), std::min(position, chunk - kFew), kFew);
    add(f32_, whole, 0, chunk);
    add(int8_, whole, 0, chunk, 1, CacheType::bf16);
    for (const Model* model : {&f32_, &bf16_, &int8_})
      for (const int64_t batch : {int64_t{1}, kBatch}) add(*model, first, 0, early, batch);
    if (settings_.far >= chunk) {
      const int64_t begin = settings_.far / chunk * chunk;
      add(f32_, "a chunk from " + with_thousands(begin), begin, chunk);
    }
    for (const Model* model : {&f32_, &bf16_, &int8_}) {
      PromptCase one;
      one.row = {model->name, "prompt of " + std::to_string(chunk)};
      one.start = std::make_shared<const Session>(model->model, pool_);
      prompts_.push_back(std::move(one));
    }
  }

  DecodeSettings settings_;
  std::shared_ptr<infer::ThreadPool> pool_;
  ModelOptions model_options_;
  LanguageModelOptions options_;
  TemporaryFolder folder_;
  Model f32_, bf16_, int8_;
  std::vector<Case> cases_;
  std::vector<PromptCase> prompts_;
};

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
  return share > 0.0 ? text : "";
}

}  // namespace

DecodeTable run_decode(const DecodeSettings& settings) { return Bench(settings).run(); }

std::string DecodeTable::markdown() const {
  Table table({"weights", "positions", "batch", "tokens/s", "ms per token", "MB read per token",
               "share of bandwidth", "share of sgemm"});
  for (const DecodeRow& row : rows)
    table.add({row.model, row.positions, std::to_string(row.batch),
               number("%.1f", 1.0 / row.seconds_per_token), number("%.3f", 1e3 * row.seconds_per_token),
               row.bytes_per_token > 0.0 ? number("%.1f", 1e-6 * row.bytes_per_token) : "",
               percent(row.share_of_bandwidth), percent(row.share_of_sgemm)});
  return "memory " + number("%.1f", 1e-9 * bandwidth) + " GB/s, sgemm " + number("%.1f", 1e-9 * sgemm) +
         " GFLOP/s\n\n" + table.markdown();
}

std::string DecodeTable::json() const {
  nlohmann::ordered_json report = {{"bytes_per_second", bandwidth}, {"sgemm_flops", sgemm}};
  for (const DecodeRow& row : rows)
    report["rows"].push_back({{"weights", row.model},
                              {"positions", row.positions},
                              {"batch", row.batch},
                              {"seconds_per_token", row.seconds_per_token},
                              {"bytes_per_token", row.bytes_per_token},
                              {"share_of_bandwidth", row.share_of_bandwidth},
                              {"share_of_sgemm", row.share_of_sgemm}});
  return report.dump(2) + "\n";
}

}  // namespace mega::bench
