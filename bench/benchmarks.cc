#include "bench/benchmarks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "bench/language.h"
#include "bench/step.h"
#include "bench/train_loop.h"
#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/cost.h"
#include "mega/nn/mega_block.h"
#include "mega/ops/attention.h"
#include "mega/ops/long_convolution.h"
#include "mega/ops/precision.h"
#include "mega/report/table.h"

namespace mega::bench {
namespace {

using torch::Tensor;

// Runs f forward, and backward from its sum if `backward`.
std::function<void()> runner(const std::string& form, bool backward, std::vector<Tensor> leaves,
                             std::function<Tensor()> f) {
  return [form = parse_form(form), backward, leaves, f]() mutable {
    const ops::FormGuard guard(form);
    if (!backward) {
      const torch::NoGradGuard no_gradients;
      f();
      return;
    }
    for (Tensor& leaf : leaves) leaf.mutable_grad() = Tensor();
    const Tensor y = f();
    y.backward(torch::ones_like(y));
  };
}

Candidate ema_case(const Settings& settings, const std::string& form, Shape shape, bool bidirectional,
                   bool backward) {
  BlockOptions block = preset_block(settings);
  block.ema.bidirectional = bidirectional;
  block.ema.truncation = 0;
  nn::Ema ema(block.width, block.ema);
  const Tensor x = torch::randn({shape.batch, shape.length, block.width}).requires_grad_(backward);
  auto leaves = ema->parameters();
  leaves.push_back(x);
  const std::string name = std::string("ema ") + (bidirectional ? "bidirectional" : "unidirectional") +
                           (backward ? " forward+backward, " : " forward, ") + shape_name(shape);
  Candidate candidate{name, form, runner(form, backward, leaves, [=]() mutable { return ema->forward(x); })};
  candidate.tokens = shape.tokens();
  candidate.flops = 2.0 * ema_multiply_adds(block) * shape.tokens() * (backward ? 3.0 : 1.0);
  candidate.channels = static_cast<double>(block.width);
  return candidate;
}

// As in a bidirectional state space layer of the preset's width.
Candidate convolution_case(const Settings& settings, const std::string& form, Shape shape, bool backward) {
  const int64_t width = preset_block(settings).width;
  const auto input = [&](std::vector<int64_t> sizes) { return torch::randn(sizes).requires_grad_(backward); };
  const Tensor x = input({shape.batch, shape.length, width}), past = input({width, shape.length}),
               future = input({width, shape.length});
  Candidate candidate{
      std::string("long convolution, ") + (backward ? "forward+backward, " : "forward, ") + shape_name(shape),
      form, runner(form, backward, {x, past, future}, [=]() {
        return ops::long_convolution(x, past, future, {});
      })};
  candidate.tokens = shape.tokens();
  candidate.channels = static_cast<double>(width);
  return candidate;
}

Candidate attention_case(const Settings& settings, const std::string& form, Shape shape, bool backward) {
  const BlockOptions block = preset_block(settings);
  const auto input = [&](int64_t width) {
    return torch::randn({shape.batch, shape.length, width}).requires_grad_(backward);
  };
  const Tensor q = input(block.shared), k = input(block.shared), v = input(block.values);
  const int64_t reach = block.chunk > 0 ? std::min(block.chunk, shape.length) : shape.length;
  const Tensor bias = torch::randn({2 * reach - 1}).requires_grad_(backward);
  ops::AttentionSettings attention;
  attention.function = block.attention;
  attention.causal = block.causal;
  attention.chunk = block.chunk;
  const std::string name = "attention " + std::string(to_string(block.attention)) + ", chunk " +
                           std::to_string(block.chunk) + (backward ? ", forward+backward, " : ", forward, ") +
                           shape_name(shape);
  Candidate candidate{name, form, runner(form, backward, {q, k, v, bias}, [=]() {
                        return ops::attention(q, k, v, {bias, 1 - reach}, Tensor(), attention);
                      })};
  candidate.tokens = shape.tokens();
  candidate.flops =
      2.0 * attention_multiply_adds(block, shape.length) * shape.tokens() * (backward ? 3.0 : 1.0);
  return candidate;
}

Candidate layer_case(const Settings& settings, const std::string& form, Shape shape) {
  BlockOptions block = preset_block(settings);
  block.max_positions = std::max(block.max_positions, shape.length);
  nn::MegaBlock layer(block);
  layer->eval();
  const Tensor x = torch::randn({shape.batch, shape.length, block.width});
  Candidate candidate{"block, chunk " + std::to_string(block.chunk) + ", forward, " + shape_name(shape), form,
                      runner(form, false, {}, [=]() mutable { return layer->forward(x); })};
  candidate.tokens = shape.tokens();
  candidate.flops = 2.0 * block_multiply_adds(block, shape.length) * shape.tokens();
  return candidate;
}

struct TableDefaults {
  const char* name;
  std::vector<int64_t> lengths;
  int64_t batch, chunk;
  const char* preset;
};
const TableDefaults kTables[] = {
    {"ema", {4096}, 8, 128, "lra-text"},          {"attention", {4096}, 2, 128, "lra-text"},
    {"layer", {4096, 16384}, 1, 128, "lra-text"}, {"step", {4096}, 2, 128, "lra-text"},
    {"train", {4002}, 8, 128, "lra-text"},        {"lm", {4096}, 1, 2048, "enwik8"},
    {"convolution", {4096}, 8, 128, "lra-text"}};

Settings with_defaults(Settings settings) {
  for (const TableDefaults& table : kTables) {
    if (settings.table != table.name) continue;
    if (settings.lengths.empty()) settings.lengths = table.lengths;
    if (settings.batch == 0) settings.batch = table.batch;
    if (settings.chunk == 0) settings.chunk = table.chunk;
    if (settings.preset.empty()) settings.preset = table.preset;
    for (const int64_t length : settings.lengths)
      require(length > 0, "a length must be above 0, not ", length);
    return settings;
  }
  fail("unknown benchmark ", in_quotes(settings.table),
       "; available are ema, convolution, attention, layer, step, train and lm");
}

std::vector<Candidate> cases_of_lengths(const Settings& settings) {
  std::vector<Candidate> candidates;
  for (const int64_t length : settings.lengths) {
    const Shape shape{settings.batch, length};
    for (const std::string& form : settings.forms) {
      if (settings.table == "ema") {
        candidates.push_back(ema_case(settings, form, shape, true, true));
        candidates.push_back(ema_case(settings, form, shape, false, true));
        candidates.push_back(ema_case(settings, form, shape, false, false));
      } else if (settings.table == "convolution") {
        candidates.push_back(convolution_case(settings, form, shape, true));
        candidates.push_back(convolution_case(settings, form, shape, false));
      } else if (settings.table == "attention") {
        candidates.push_back(attention_case(settings, form, shape, true));
        candidates.push_back(attention_case(settings, form, shape, false));
      } else if (settings.table == "layer") {
        candidates.push_back(layer_case(settings, form, shape));
      } else {
        candidates.push_back(step_case(settings, form, shape));
      }
    }
  }
  return candidates;
}

// In each precision; the reference form in float32 alone.
std::vector<Candidate> make_candidates(const Settings& settings) {
  std::vector<Candidate> candidates;
  for (const std::string& name : settings.precisions) {
    const auto precision = parse_enum<Precision>(name);
    require(ops::available_precision(precision) == precision, "this CPU does not multiply ", name,
            " (AVX512-BF16); measure f32");
    Settings one = settings;
    one.precisions = {name};
    for (Candidate& candidate : one.table == "train" ? train_loop_cases(one)
                                : one.table == "lm"  ? language_cases(one)
                                                     : cases_of_lengths(one)) {
      if (candidate.form != "fused" && precision != Precision::f32) continue;
      candidate.precision = name;
      candidate.run = [precision, run = candidate.run] {
        const ops::PrecisionGuard guard(precision);
        run();
      };
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

// The FFT's kernel has (channels, N, L) floats; above this many bytes the reference form does not fit in
// memory.
constexpr double kLargestReference = 4e9;

bool reference_fits(const Settings& settings, int64_t length) {
  if (settings.table == "lm" || settings.table == "convolution") return true;  // no EMA in the reference form
  if (settings.table == "step" && reads_pictures(settings.preset)) return true;
  const BlockOptions block = preset_block(settings);
  const double kernel = 4.0 * 0.5 * ema_multiply_adds(block) * static_cast<double>(length);
  return kernel < kLargestReference;
}

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace

std::vector<Candidate> make_rows(const Settings& asked) {
  const Settings settings = with_defaults(asked);
  std::vector<Candidate> rows;
  for (const int64_t length : settings.lengths) {
    Settings one = settings;
    one.lengths = {length};
    for (Candidate& candidate : make_candidates(one)) rows.push_back(std::move(candidate));
  }
  return rows;
}

std::vector<Row> run_table(const Settings& asked) {
  const Settings settings = with_defaults(asked);
  std::vector<Row> rows;
  for (const int64_t length : settings.lengths) {
    Settings one = settings;
    one.lengths = {length};
    if (!reference_fits(settings, length)) {
      std::erase(one.forms, "reference");
      std::fprintf(stderr,
                   "reference form skipped at length %lld: its EMA kernel alone would take over 4 GB\n",
                   static_cast<long long>(length));
    }
    auto candidates = make_candidates(one);
    candidates.push_back(sgemm());
    auto measured = measure(candidates, settings.repeats);
    for (size_t i = 0; i + 1 < candidates.size(); ++i) {
      std::vector<std::string> arguments = {"bench",       settings.table,
                                            "--memory-of", std::to_string(i),
                                            "--preset",    settings.preset,
                                            "--length",    std::to_string(length),
                                            "--batch",     std::to_string(settings.batch),
                                            "--chunk",     std::to_string(settings.chunk),
                                            "--threads",   std::to_string(settings.threads),
                                            "--forms",     join(one.forms, ","),
                                            "--precision", join(one.precisions, ",")};
      measured[i].peak_growth_mb = child_peak_growth_mb(arguments);
    }
    rows.insert(rows.end(), measured.begin(), measured.end());
  }
  return rows;
}

double run_memory(const Settings& asked, size_t index) {
  const Settings settings = with_defaults(asked);
  // A tiny run first, so that libraries and thread pools are initialised before the measurement.
  Settings tiny = settings;
  tiny.lengths = {16};
  tiny.batch = 1;
  // Pictures have their preset's size: a large model's freed memory would be there for the second run.
  if (settings.table == "step" && reads_pictures(settings.preset)) tiny.preset = "picture-small";
  make_candidates(tiny).at(index).run();
  const auto candidates = make_candidates(settings);
  return peak_growth_mb(candidates.at(index).run);
}

std::string to_markdown(const std::vector<Row>& rows) {
  double yardstick = 0.0;
  for (const Row& row : rows)
    if (row.form == "sgemm") yardstick = row.flops / row.median_s;
  const bool per_channel =
      std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.channels > 0; });
  std::vector<std::string> header = {"what",     "form",    "precision", "median", "± %",
                                     "tokens/s", "GFLOP/s", "of sgemm",  "peak MB"};
  if (per_channel) header.insert(header.end(), {"ns/token/channel", "limit"});
  Table table(header);
  for (const Row& row : rows) {
    std::vector<std::string> cells = {
        row.name,
        row.form,
        row.precision,
        human_seconds(row.median_s),
        row.spread >= 0 ? number(100 * row.spread, 1) : "",
        row.tokens_per_s > 0 ? with_thousands(std::llround(row.tokens_per_s)) : "",
        number(row.flops / row.median_s * 1e-9, 1),
        number(100 * row.share_of_sgemm, 1) + " %",
        row.peak_growth_mb >= 0 ? number(row.peak_growth_mb, 1) : ""};
    if (per_channel) {
      const double pieces = row.tokens_per_s * row.median_s * row.channels;
      cells.push_back(pieces > 0 ? number(row.median_s * 1e9 / pieces, 3) : "");
      cells.push_back(pieces > 0 ? number(row.flops / yardstick * 1e9 / pieces, 3) : "");
    }
    table.add(cells);
  }
  return table.markdown();
}

std::string to_json(const std::vector<Row>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json entry = {{"name", row.name},
                                    {"form", row.form},
                                    {"precision", row.precision},
                                    {"median_seconds", row.median_s},
                                    {"spread", row.spread},
                                    {"tokens_per_second", row.tokens_per_s},
                                    {"gflops", row.flops / row.median_s * 1e-9},
                                    {"share_of_sgemm", row.share_of_sgemm},
                                    {"peak_growth_mb", nullptr}};
    if (row.peak_growth_mb >= 0) entry["peak_growth_mb"] = row.peak_growth_mb;
    list.push_back(entry);
  }
  return list.dump(2) + "\n";
}

}  // namespace mega::bench
