#include "mega/baselines/factory.h"

#include <gtest/gtest.h>

#include "mega/baselines/cost.h"
#include "mega/config/presets.h"
#include "mega/models/parameter_count.h"
#include "tests/base/helpers.h"
#include "tests/counting_allocator.h"

namespace mega::baselines {
namespace {

using models::Sequences;
using testing::contains;
using testing::error_of;
using torch::Tensor;

const bool kCounts = testing::CountingAllocator::install();

// Of a training step on random tokens.
double measured(const ModelOptions& options, int64_t length, int64_t batch) {
  const auto model = make_sequence_model(options);
  const int64_t vocabulary = sequence_options(options)->vocabulary;
  std::vector<Sequences> documents_of_batch(static_cast<size_t>(documents(options)));
  const auto step = [&](int64_t l) {
    for (Sequences& document : documents_of_batch)
      document.values = torch::randint(4, vocabulary, {batch, l}, torch::kInt64);
    model->predict(documents_of_batch).sum().backward();
  };
  step(16);  // gradients are there before the measurement
  return testing::CountingAllocator::growth([&] { step(length); });
}

int64_t parameters(const ModelOptions& options) {
  return models::count_parameters(*make_sequence_model(options)).total;
}

TEST(Factory, MakesTheReleasedTransformer) {
  TransformerOptions options;  // the defaults are those for Text
  options.pooling = Pooling::cls;
  options.head = 1024;
  const auto count = models::count_parameters(*make_sequence_model({options}));
  EXPECT_EQ(count.total, 3'492'352);
  EXPECT_EQ(count.parts.at("embedding"), 67'584);
  EXPECT_EQ(count.parts.at("attention"), 4 * 4 * (256 + 1) * 256);
  EXPECT_EQ(count.parts.at("feed-forward"), 4 * (2 * 256 * 1024 + 1024 + 256));
  EXPECT_EQ(count.parts.at("norms"), 9 * 2 * 256);
  EXPECT_EQ(count.parts.at("head"), (256 + 1) * 1024 + 2 * 1024);
  EXPECT_EQ(count.parts.size(), 5u);
}

TEST(Factory, APeerIsAsLargeAsTheMegaModel) {
  for (const char* name : {"lra-listops-chunk", "lra-text-chunk", "lra-image-chunk", "lra-pathfinder-chunk",
                           "lra-retrieval-chunk"}) {
    const ModelOptions mega = load_preset(name).model;
    const auto ours = static_cast<double>(parameters(mega));
    const auto theirs = static_cast<double>(parameters({transformer_like(mega)}));
    EXPECT_NEAR(theirs / ours, 1.0, 0.02) << name << ": " << ours << " and " << theirs;
  }
}

template <class Call>
bool works(const Call& call) {
  try {
    call();
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Factory, MakesTheModelOfEveryPresetThatItCan) {
  for (const std::string& name : preset_names()) {
    const ModelOptions options = load_preset(name).model;
    const bool sequence = sequence_options(options) != nullptr, language = token_options(options) != nullptr;
    EXPECT_EQ(works([&] { documents(options); }), sequence) << name;
    EXPECT_EQ(works([&] { multiply_adds(options, 100); }), sequence || language) << name;
    EXPECT_EQ(works([&] { activation_bytes(options, 100, 1); }), sequence || language) << name;
    if (name == "wikitext103") continue;  // a gigabyte, made elsewhere
    EXPECT_EQ(works([&] { make_sequence_model(options); }), sequence) << name;
    EXPECT_EQ(works([&] { make_token_model(options); }), language) << name;
    EXPECT_EQ(works([&] { make_any_model(options); }), sequence || language) << name;
  }
}

TEST(Cost, MultiplyAddsAreThoseOfTheProducts) {
  TransformerOptions options;
  options.layers = 3;
  options.width = 8;
  options.hidden = 20;
  EXPECT_EQ(multiply_adds(options, 50), 3 * (4 * 8 * 8 + 2 * 8 * 20 + 2 * 50 * 8));
  const ModelOptions mega = load_preset("lra-text-chunk").model;
  EXPECT_EQ(multiply_adds(mega, 4096), multiply_adds(mega, 8192)) << "chunks cost the same at any length";
}

TEST(Cost, MemoryIsNearWhatIsMeasured) {
  ASSERT_TRUE(kCounts);
  TransformerOptions paper;
  TransformerOptions narrow;
  narrow.layers = 2;
  narrow.width = 64;
  narrow.hidden = 64;
  TransformerOptions thin = narrow;
  thin.hidden = 8;
  TransformerOptions wide = narrow;
  wide.hidden = 1024;
  TransformerOptions pair = narrow;
  pair.documents = 2;
  struct Case {
    const char* name;
    ModelOptions options;
    int64_t length, batch;
  };
  for (const Case& c :
       {Case{"paper", {paper}, 500, 2}, Case{"paper, longer", {paper}, 1000, 2},
        Case{"narrow", {narrow}, 1000, 4}, Case{"thin", {thin}, 1000, 4}, Case{"wide", {wide}, 1000, 4},
        Case{"pair", {pair}, 1000, 4}, Case{"Mega", load_preset("lra-text-chunk").model, 1000, 4},
        Case{"Mega, pair", load_preset("lra-retrieval-chunk").model, 1000, 2}}) {
    const double estimate = activation_bytes(c.options, c.length, c.batch);
    const double truth = measured(c.options, c.length, c.batch);
    EXPECT_NEAR(estimate / truth, 1.0, 0.3) << c.name << ": " << estimate << " estimated, " << truth;
  }
}

}  // namespace
}  // namespace mega::baselines
