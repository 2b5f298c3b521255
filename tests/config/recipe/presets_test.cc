#include "mega/config/recipe/presets.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "mega/base/options/options_io.h"
#include "mega/config/parameter_count.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

// Parameters by closed form, independent of the modules: what the released models have.
namespace count {

int64_t linear(int64_t in, int64_t out) { return (in + 1) * out; }

int64_t norm(const BlockOptions& block) {
  switch (block.norm) {
    case NormKind::scale:
      return 1;
    case NormKind::rms:
      return block.width;
    default:
      return 2 * block.width;
  }
}

int64_t position_bias(const BlockOptions& block) {
  if (block.position == PositionKind::rotary) return 2 * block.shared;
  return 2 * (block.chunk > 0 ? block.chunk : block.max_positions) - 1;
}

int64_t block(const BlockOptions& b) {
  const int64_t d = b.width, v = b.values, z = b.shared, f = b.hidden;
  const int64_t ema = 4 * (b.ema.bidirectional ? 2 * d : d) * b.ema.dimension + d;
  const int64_t attention =
      linear(d, v) + linear(d, z + v + 2 * d) + linear(v, d) + 4 * z + ema + position_bias(b) + norm(b);
  return attention + linear(d, f) + linear(f, d) + norm(b);
}

int64_t cross_attention(const BlockOptions& b) {
  const int64_t d = b.width, z = b.shared;
  return linear(d, z) + 2 * linear(d, d) + linear(d, 2 * d + z) + position_bias(b) + norm(b);
}

int64_t final_norm(const BlockOptions& b) { return b.prenorm ? norm(b) : 0; }

int64_t encoder_classifier(const EncoderClassifierOptions& o, int64_t documents) {
  const int64_t d = o.block.width;
  const int64_t embedding = o.input == InputKind::tokens ? o.vocabulary * d : 2 * d;
  return embedding + o.layers * block(o.block) + final_norm(o.block) + linear(documents * d, o.head) +
         o.head * o.classes;
}

int64_t model(const ClassifierOptions& o) { return encoder_classifier(o, 1); }
int64_t model(const MatcherOptions& o) { return encoder_classifier(o, 2); }

int64_t model(const TransformerOptions& o) {
  const int64_t d = o.width, norms = 2 * o.layers + (o.normalize_embedding ? 1 : 0);
  const int64_t embedding = o.input == InputKind::tokens ? o.vocabulary * d : 2 * d;
  return embedding + o.layers * (4 * linear(d, d) + linear(d, o.hidden) + linear(o.hidden, d)) +
         norms * 2 * d + linear(o.documents * d, o.head) + o.head * o.classes;
}

// Embeddings that are the output layer too.
int64_t tied_embedding(const TokenOptions& o, int64_t d) {
  if (o.cutoffs.empty()) return o.vocabulary * d;
  int64_t embedding = d * static_cast<int64_t>(o.cutoffs.size());  // chooses the tail
  int64_t begin = 0;
  int64_t width = d;
  std::vector<int64_t> ends = o.cutoffs;
  ends.push_back(o.vocabulary);
  for (const int64_t end : ends) {
    embedding += (end - begin) * width + width * d;
    begin = end;
    width /= o.band_factor;
  }
  return embedding;
}

// Final norm without scale and shift.
int64_t model(const LanguageModelOptions& o) {
  return tied_embedding(o, o.block.width) + o.layers * block(o.block);
}

int64_t model(const TransformerLanguageOptions& o) {
  const int64_t d = o.width;
  return tied_embedding(o, d) + o.layers * (4 * linear(d, d) + linear(d, o.hidden) + linear(o.hidden, d)) +
         (2 * o.layers + (o.final_norm ? 1 : 0)) * 2 * d;
}

int64_t model(const TranslatorOptions& o) {
  const BlockOptions decoder = decoder_block(o);
  return o.vocabulary * o.block.width + o.encoder_layers * block(o.block) +
         o.decoder_layers * (block(decoder) + cross_attention(decoder));
}

int64_t model(const TransformerTranslationOptions& o) {
  const int64_t d = o.width, feed_forward = linear(d, o.hidden) + linear(o.hidden, d);
  return o.vocabulary * d + o.encoder_layers * (4 * linear(d, d) + feed_forward + 4 * d) +
         o.decoder_layers * (8 * linear(d, d) + feed_forward + 6 * d);
}

int64_t model(const ImageClassifierOptions& o) {
  const int64_t d = o.block.width;
  return linear(o.patch * o.patch * o.channels, d) + o.grid().size() * d + o.layers * block(o.stack().block) +
         final_norm(o.block) + linear(d, d) + linear(d, o.classes);
}

int64_t model(const VisionTransformerOptions& o) {
  const int64_t d = o.width;
  return linear(o.patch * o.patch * o.channels, d) + d + o.tokens() * d +
         o.layers * (linear(d, 3 * d) + linear(d, d) + linear(d, o.hidden) + linear(o.hidden, d)) +
         (2 * o.layers + 1) * 2 * d + linear(d, o.classes);
}

int64_t model(const ResNetOptions& o) {
  const auto convolution = [](int64_t inputs, int64_t outputs, int64_t kernel) {
    return outputs * (inputs * kernel * kernel + 2);  // and its norm
  };
  int64_t count = convolution(o.channels, o.stem, 7), inputs = o.stem;
  for (size_t stage = 0; stage < o.blocks.size(); ++stage) {
    const int64_t width = o.widths[stage], outputs = 4 * width;
    count += convolution(inputs, outputs, 1);
    for (int64_t i = 0; i < o.blocks[stage]; ++i) {
      count += convolution(inputs, width, 1) + convolution(width, width, 3) + convolution(width, outputs, 1);
      inputs = outputs;
    }
  }
  return count + linear(inputs, o.classes);
}

// With a vector of its own for the whole sequence.
int64_t arena(const ArenaOptions& o, int64_t projections, int64_t others = 0) {
  const int64_t d = o.width;
  return (o.vocabulary + 1) * d +
         o.layers * (projections * d * d + others + linear(d, o.hidden) + linear(o.hidden, d)) +
         (2 * o.layers + 1) * 2 * d + linear(d, o.head) + linear(o.head, o.classes);
}
int64_t model(const ArenaOptions& o) { return arena(o, 4); }
int64_t model(const LinformerOptions& o) { return arena(o, 4, (o.max_positions + 1) * o.rank); }
int64_t model(const ReformerOptions& o) { return arena(o, 2); }

int64_t model(const LunaOptions& o) {
  const int64_t d = o.width;
  return (o.vocabulary + o.packed) * d +
         o.layers * (7 * linear(d, d) + linear(d, o.hidden) + linear(o.hidden, d) + 6 * d) + 4 * d +
         linear(d, o.head) + o.head * o.classes;
}

int64_t model(const FlashOptions& o) {
  const int64_t d = o.width, v = o.values, z = o.shared;
  return o.vocabulary * d +
         o.layers * (linear(d, 2 * v + z) + linear(v, d) + 4 * z + 2 * o.max_positions - 1 + 1) + 1 +
         linear(d, o.head) + o.head * o.classes;
}

int64_t model(const LinearOptions& o) { return o.buckets * o.classes + o.classes; }

}  // namespace count

int64_t parameters(const std::string& preset) {
  return std::visit(
      [&](const auto& model) -> int64_t {
        if constexpr (requires { count::model(model); }) return count::model(model);
        ADD_FAILURE() << "no formula for the size of " << preset;
        return -1;
      },
      load_preset(preset).model.model);
}

TEST(Presets, EachLoadsAndRoundTripsThroughJson) {
  EXPECT_GE(preset_names().size(), 18u);
  for (const std::string& name : preset_names()) {
    SCOPED_TRACE(name);
    const Recipe recipe = load_preset(name);
    EXPECT_FALSE(recipe.description.empty());
    const nlohmann::ordered_json json = options_to_json(recipe);
    Recipe again;
    options_from_json(again, nlohmann::json::parse(json.dump()));
    EXPECT_EQ(options_to_json(again), json);
    EXPECT_NO_THROW(validate(again));
  }
}

TEST(Presets, HaveTheParametersOfTheReleasedModels) {
  EXPECT_EQ(parameters("lra-listops"), 602'578);
  EXPECT_EQ(parameters("lra-listops-chunk"), 580'090);
  EXPECT_EQ(parameters("lra-text"), 990'996);
  EXPECT_EQ(parameters("lra-text-chunk"), 960'004);
  EXPECT_EQ(parameters("lra-retrieval"), 1'485'598);
  EXPECT_EQ(parameters("lra-retrieval-chunk"), 1'439'110);
  EXPECT_EQ(parameters("lra-image"), 2'839'096);
  EXPECT_EQ(parameters("lra-image-chunk"), 2'824'760);
  EXPECT_EQ(parameters("lra-pathfinder"), 1'386'874);
  EXPECT_EQ(parameters("lra-pathfinder-chunk"), 1'376'122);
  EXPECT_EQ(parameters("lra-pathx"), 381'948);
  EXPECT_EQ(parameters("lra-pathx-chunk"), 283'644);
  EXPECT_EQ(parameters("sc-base"), 343'134);
  EXPECT_EQ(parameters("sc-big"), 475'890);
  EXPECT_EQ(parameters("lra-text-transformer"), 3'492'352);
  EXPECT_EQ(parameters("lra-text-performer"), 3'488'514);
  EXPECT_EQ(parameters("lra-text-linformer"), 3'744'578);
  EXPECT_EQ(parameters("lra-text-bigbird"), 3'488'514);
  EXPECT_EQ(parameters("lra-text-reformer"), 2'964'226);
  EXPECT_EQ(parameters("lra-text-luna"), 4'349'952);
  EXPECT_EQ(parameters("lra-text-flash"), 529'169);
  EXPECT_EQ(parameters("wikitext103-transformer"), 246'933'504);
  EXPECT_EQ(parameters("wikitext103"), 252'237'824);
  EXPECT_EQ(parameters("enwik8"), 39'137'792);
  EXPECT_EQ(parameters("wmt16-en-de"), 63'136'750);
  EXPECT_EQ(parameters("imagenet"), 90'734'140);
  EXPECT_EQ(parameters("deit-b"), 86'567'656);
  EXPECT_EQ(parameters("vit-b"), 86'859'496);
  EXPECT_EQ(parameters("resnet-152"), 60'192'808);
}

TEST(Presets, ChunkFormsDifferOnlyInTheChunk) {
  for (const char* name :
       {"lra-listops", "lra-text", "lra-retrieval", "lra-image", "lra-pathfinder", "lra-pathx", "imagenet"}) {
    SCOPED_TRACE(name);
    Recipe full = load_preset(name);
    Recipe chunk = load_preset(std::string(name) + "-chunk");
    chunk.description = full.description;
    set_option(chunk, "model.block.chunk=-1");
    EXPECT_EQ(options_to_json(chunk), options_to_json(full));
  }
}

TEST(Presets, TranslatorsDifferOnlyInLanguagesAndAttention) {
  const Recipe first = load_preset("wmt16-en-de");
  for (const char* name : {"wmt16-de-en", "wmt16-en-de-laplace", "wmt16-de-en-laplace"}) {
    SCOPED_TRACE(name);
    Recipe other = load_preset(name);
    EXPECT_NE(other.description, first.description);
    EXPECT_NE(options_to_json(other.model) == options_to_json(first.model),
              std::string(name).ends_with("laplace"));
    EXPECT_EQ(std::get<TranslationInput>(other.input.input).source_language, std::string(name).substr(6, 2));
    EXPECT_EQ(std::get<TranslationInput>(other.input.input).target_language, std::string(name).substr(9, 2));
    other.description = first.description;
    for (const char* same :
         {"model.block.attention=softmax", "input.source_language=en", "input.target_language=de"})
      set_option(other, same);
    EXPECT_EQ(options_to_json(other), options_to_json(first));
  }
}

// A model of pictures reads what the input makes of them.
TEST(Presets, PicturesHaveTheSizeOfTheInput) {
  int64_t count = 0;
  for (const std::string& name : preset_names()) {
    const Recipe recipe = load_preset(name);
    const ImageOptions* model = image_options(recipe.model);
    if (model == nullptr) continue;
    ++count;
    const auto* input = std::get_if<ImageInput>(&recipe.input.input);
    ASSERT_NE(input, nullptr) << name;
    EXPECT_EQ(model->rows(), input->height) << name;
    EXPECT_EQ(model->columns(), input->width) << name;
  }
  EXPECT_EQ(count, 7);
}

TEST(Presets, AudioStreamSeesThePastAlone) {
  const Recipe recipe = load_preset("audio-stream");
  const auto& model = std::get<ClassifierOptions>(recipe.model.model);
  EXPECT_TRUE(model.block.causal);
  EXPECT_FALSE(model.block.ema.bidirectional);
  EXPECT_GT(model.block.chunk, 0);
  EXPECT_EQ(model.pooling, Pooling::mean);
}

TEST(Presets, AMistypedNameGetsTheNearest) {
  EXPECT_PRED2(contains, error_of([] { load_preset("lra-txt"); }),
               "no preset \"lra-txt\"; did you mean lra-text?");
  EXPECT_PRED2(contains, error_of([] { load_recipe("qqqqqqqqqqqq"); }),
               "no preset \"qqqqqqqqqqqq\"; `mega presets` lists them");
}

TEST(LoadRecipe, ReadsAFileAndPointsAtItsLines) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "my.toml";
  write_file(path, "[model]\nkind = \"language\"\n[model.block]\nchunk = 8\n");
  const Recipe recipe = load_recipe(path.string());
  EXPECT_EQ(std::get<LanguageModelOptions>(recipe.model.model).block.chunk, 8);

  const auto error = [&](const char* text) {
    write_file(path, text);
    return error_of([&] { load_recipe(path.string()); });
  };
  EXPECT_EQ(error("[model]\nkind = \"classifier\"\n[model.block]\nwidth = \"a\""),
            path.string() + ":4: model.block.width: expected a whole number, 1 to 1048576, got \"a\"");
  EXPECT_EQ(error("[model]\nwidth = 8"),
            path.string() + ":2: model: unknown option \"width\"; did you mean model.block.width?");
  EXPECT_PRED2(contains, error("[model.block]\nchunk = 0"),
               path.string() + ": model: block: chunk: 0 is no length");
  EXPECT_PRED2(contains, error_of([] { load_recipe("none.toml"); }), "none.toml: cannot open");
}

TEST(Change, ATransformerKeepsTheTaskOfWhatItReplaces) {
  Recipe recipe = load_preset("lra-image");
  const Recipe before = recipe;
  change(recipe, "model.kind=transformer");
  const auto& peer = std::get<TransformerOptions>(recipe.model.model);
  EXPECT_EQ(peer.input, InputKind::pixels);
  EXPECT_EQ(peer.documents, 1);
  EXPECT_EQ(peer.classes, 10);
  EXPECT_EQ(peer.layers, 8);
  EXPECT_EQ(peer.width, 160);
  EXPECT_EQ(peer.head, 320);
  EXPECT_EQ(recipe.description, before.description);
  EXPECT_EQ(options_to_json(recipe.train), options_to_json(before.train));
  EXPECT_NO_THROW(validate(recipe));

  recipe = load_preset("lra-retrieval");
  change(recipe, " model.kind = transformer ");
  EXPECT_EQ(std::get<TransformerOptions>(recipe.model.model).documents, 2);
}

TEST(Change, ATranslatorsTransformerIsOfTheBaseSize) {
  Recipe recipe = load_preset("wmt16-en-de");
  change(recipe, "model.kind=transformer");
  validate(recipe);
  const auto& base = std::get<TransformerTranslationOptions>(recipe.model.model);
  EXPECT_EQ(base.encoder_layers, 6);
  EXPECT_EQ(base.decoder_layers, 6);
  EXPECT_EQ(base.width, 512);
  EXPECT_EQ(base.hidden, 2048);
  EXPECT_EQ(base.heads, 8);
  EXPECT_EQ(base.dropout, 0.15);
}

TEST(Change, ALanguageModelsTransformerHasItsSizeAndTrainsOnItsWindow) {
  for (const char* preset : {"enwik8", "wikitext103"}) {
    Recipe recipe = load_preset(preset);
    const auto& options = std::get<LanguageModelOptions>(recipe.model.model);
    const int64_t mega = count::model(options), chunk = options.block.chunk;
    change(recipe, "model.kind=transformer");
    validate(recipe);
    const auto& peer = std::get<TransformerLanguageOptions>(recipe.model.model);
    EXPECT_NEAR(static_cast<double>(count::model(peer)), static_cast<double>(mega),
                0.01 * static_cast<double>(mega));
    EXPECT_EQ(peer.window, 3 * chunk / 2);
    EXPECT_EQ(recipe.train.blocks.chunk, peer.window);
    EXPECT_EQ(recipe.train.blocks.max_chunks, 1);
  }
}

TEST(Change, ATransformerStaysAsItIs) {
  Recipe recipe = load_preset("lra-text");
  change(recipe, "model.kind=transformer");
  change(recipe, "model.hidden=99");
  EXPECT_EQ(std::get<TransformerOptions>(recipe.model.model).hidden, 99);
  EXPECT_EQ(std::get<TransformerOptions>(recipe.model.model).width, 128);

  // A resumed run is given its options again.
  for (const char* preset : {"lra-text", "bytes-small", "translate-small", "picture-small"}) {
    recipe = load_preset(preset);
    change(recipe, "model.kind=transformer");
    const nlohmann::ordered_json before = options_to_json(recipe);
    change(recipe, "model.kind=transformer");
    EXPECT_EQ(options_to_json(recipe), before) << preset;
  }
}

// Of a preset beside which no published model of that kind is.
TEST(Change, BaselinesAreAsLargeAsTheModel) {
  for (const char* preset : {"listops-small", "image-small", "text-small", "pairs-small", "lra-image-chunk"})
    for (const char* kind :
         {"transformer", "performer", "linformer", "bigbird", "reformer", "luna", "flash", "lstm"}) {
      Recipe recipe = load_preset(preset);
      const auto mega = static_cast<double>(count_parameters(recipe.model).total);
      change(recipe, std::string("model.kind=") + kind);
      validate(recipe);
      EXPECT_NEAR(static_cast<double>(count_parameters(recipe.model).total), mega, 0.1 * mega)
          << preset << ", " << kind;
    }
}

TEST(Change, APublishedBaselineHasTheTaskOfTheRecipe) {
  for (const char* kind : {"performer", "s4"}) {
    Recipe recipe = load_preset("lra-text");
    change(recipe, "model.classes=7");
    change(recipe, "model.vocabulary=300");
    change(recipe, std::string("model.kind=") + kind);
    EXPECT_EQ(sequence_options(recipe.model)->classes, 7) << kind;
    EXPECT_EQ(sequence_options(recipe.model)->vocabulary, 300) << kind;
  }
}

TEST(Change, AnUnknownKindListsTheKnown) {
  Recipe recipe = load_preset("lra-text");
  const std::string error = error_of([&] { change(recipe, "model.kind=transfromer"); });
  for (const char* kind : {"transformer", "performer", "linformer", "bigbird", "reformer", "luna", "flash",
                           "s4", "s4d", "lstm", "transformer-xl", "classifier"})
    EXPECT_PRED2(contains, error, kind);
}

TEST(MakeForInput, PresetsAre) {
  for (const std::string& name : preset_names()) {
    Recipe recipe = load_preset(name);
    make_for_input(recipe);
    EXPECT_EQ(options_to_json(recipe), options_to_json(load_preset(name))) << name;
  }
}

TEST(MakeForInput, ModelsThatAreForShorterOnesGrow) {
  const auto length_of = [](const std::string& kind, const std::string& key) {
    Recipe recipe = load_preset("lra-text");
    change(recipe, "input.max_length=5000");
    change(recipe, "model.pooling=cls");
    if (!kind.empty()) change(recipe, "model.kind=" + kind);
    make_for_input(recipe);
    validate(recipe);
    for (const OptionRow& row : option_rows(recipe))
      if (row.key == key) return row.value;
    return std::string();
  };
  EXPECT_EQ(length_of("", "model.block.max_positions"), "5001") << "with <CLS>";
  EXPECT_EQ(length_of("flash", "model.max_positions"), "5001");
  EXPECT_EQ(length_of("linformer", "model.max_positions"), "5000") << "it has a <CLS> of its own";
  EXPECT_EQ(length_of("s4", "model.kernel_length"), "5000");

  Recipe chunked = load_preset("text-small");
  change(chunked, "input.max_length=5000");
  const nlohmann::ordered_json before = options_to_json(chunked);
  make_for_input(chunked);
  EXPECT_EQ(options_to_json(chunked), before) << "those of a chunk will do";
}

TEST(Change, OtherwiseSetsAnOption) {
  Recipe recipe = load_preset("lra-text");
  change(recipe, "model.block.chunk=8");
  EXPECT_EQ(std::get<ClassifierOptions>(recipe.model.model).block.chunk, 8);
  change(recipe, "model.kind=matcher");
  EXPECT_TRUE(std::holds_alternative<MatcherOptions>(recipe.model.model));

  const nlohmann::ordered_json before = options_to_json(recipe);
  for (const char* wrong : {"model.kind=transfromer", "model.hidden=3", "model.kind", "=transformer", ""}) {
    EXPECT_FALSE(error_of([&] { change(recipe, wrong); }).empty()) << wrong;
    EXPECT_EQ(options_to_json(recipe), before) << wrong;
  }
}

}  // namespace
}  // namespace mega
