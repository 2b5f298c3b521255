// Session files: a loaded session continues exactly like the saved one; invalid files are Errors.
#include "mega/infer/session_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "mega/base/files/file.h"
#include "mega/base/files/tensor_hash.h"
#include "mega/base/hash.h"
#include "mega/base/options/options_io.h"
#include "mega/infer/models/fingerprint.h"
#include "mega/infer/session.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;
using testing::tiny_language_model;
using testing::write_random_model;

std::vector<int32_t> some_tokens(int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>((i * 31 + i * i * 7) % 260));
  return tokens;
}

class SessionFileTest : public ::testing::Test {
 protected:
  std::shared_ptr<const LanguageModel> make(const LanguageModelOptions& options, uint32_t seed = 1) const {
    write_random_model(folder_ / "model", {options}, seed);
    return LanguageModel::open(folder_ / "model");
  }

  static std::vector<float> logits(Session& session) {
    const auto view = session.logits();
    return {view.begin(), view.end()};
  }

  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_ / "state";
  const std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(2);
  const std::vector<int32_t> tokens_ = some_tokens(200);
};

TEST_F(SessionFileTest, ContinuesBitForBit) {
  LanguageModelOptions options = tiny_language_model();
  for (const int64_t chunk : {13, 70, -1}) {
    for (const PositionKind position : {PositionKind::rotary, PositionKind::tupe}) {
      for (const EmaKind kind : {EmaKind::multidimensional, EmaKind::plain, EmaKind::complex}) {
        options.block.chunk = chunk;
        options.block.position = position;
        options.block.ema.kind = kind;
        options.block.norm = kind == EmaKind::complex ? NormKind::timestep : NormKind::layer;
        options.block.norm_groups = 2;
        const auto model = make(options);
        for (const CacheType cache : {CacheType::f32, CacheType::bf16}) {
          // Empty; within a chunk; at the end of one, without keys; after several pages.
          for (const size_t length : {0, 5, 13, 140}) {
            SCOPED_TRACE(::testing::Message() << "chunk " << chunk << ", length " << length);
            Session session(model, pool_, cache);
            const std::span<const int32_t> all(tokens_), rest = all.subspan(length, 30);
            session.feed(all.first(length));
            session.save(path_);
            Session loaded = Session::load(path_, model, pool_);
            EXPECT_EQ(loaded.position(), session.position());
            EXPECT_EQ(loaded.bytes(), session.bytes());
            if (length > 0) {
              EXPECT_EQ(logits(loaded), logits(session));
            }
            for (const int32_t token : rest.first(15)) {
              session.feed({&token, 1});
              loaded.feed({&token, 1});
            }
            session.feed(rest.subspan(15));
            loaded.feed(rest.subspan(15));
            EXPECT_EQ(logits(loaded), logits(session));
          }
        }
      }
    }
  }
}

TEST_F(SessionFileTest, ModelsWithoutEma) {
  LanguageModelOptions options = tiny_language_model();
  options.block.ema.dimension = 0;
  const auto model = make(options);
  Session session(model, pool_);
  session.feed(std::span(tokens_).first(20));
  session.save(path_);
  Session loaded = Session::load(path_, model, pool_);
  session.feed(std::span(tokens_).first(3));
  loaded.feed(std::span(tokens_).first(3));
  EXPECT_EQ(logits(loaded), logits(session));
}

TEST_F(SessionFileTest, StatesOfOtherModelsAreErrors) {
  const auto model = make(tiny_language_model());
  Session session(model, pool_);
  session.feed(std::span(tokens_).first(5));
  session.save(path_);
  const auto message = [&](const std::shared_ptr<const LanguageModel>& other) {
    return error_of([&] { Session::load(path_, other, pool_); });
  };
  EXPECT_PRED2(contains, message(make(tiny_language_model(), 2)), "the state of another model");
  LanguageModelOptions options = tiny_language_model();
  options.block.attention = AttentionFunction::laplace;  // the same tensors
  EXPECT_PRED2(contains, message(make(options)), "the state of another model");
  EXPECT_NO_THROW(Session::load(path_, make(tiny_language_model()), pool_));
}

TEST_F(SessionFileTest, FingerprintsDependOnlyOnTheModel) {
  const auto options = tiny_language_model();
  const testing::RandomWeights weights({options}, 1);
  const auto print = [&](const LanguageModelOptions& model, std::vector<TensorView> tensors) {
    write_model_file(folder_ / "model", {model}, std::move(tensors), {{"note", "n"}});
    return fingerprint(ModelFile::open(folder_ / "model"));
  };
  const uint64_t own = print(options, weights.tensors());
  EXPECT_EQ(own, make(options)->fingerprint());
  LanguageModelOptions other = options;
  other.scale_embedding = false;
  EXPECT_NE(print(other, weights.tensors()), own);
  auto tensors = weights.tensors();
  std::swap(tensors[0].data, tensors.emplace_back(tensors[0]).data);
  tensors.back().name = "more";
  EXPECT_NE(print(options, tensors), own);
}

// A file of an older version has no field for an option that came later. Its states know it by the text it
// has.
TEST_F(SessionFileTest, AFingerprintIsOfTheOptionsAsTheFileHasThem) {
  const auto options = tiny_language_model();
  const testing::RandomWeights weights({options}, 1);
  write_model_file(folder_ / "model", {options}, weights.tensors());
  const ModelFile file = ModelFile::open(folder_ / "model");
  Metadata metadata = file.tensors.metadata();
  const uint64_t tensors_alone = hash_tensors(weights.tensors());
  EXPECT_NE(fingerprint(file), tensors_alone);
  EXPECT_EQ(fingerprint(file), hash_tensors(weights.tensors(), hash_text(metadata.at("options"))));
  EXPECT_EQ(metadata.at("options"), options_to_json(file.options).dump());

  nlohmann::ordered_json older = nlohmann::ordered_json::parse(metadata.at("options"));
  ASSERT_EQ(older.erase("scale_embedding"), 1U);
  metadata["options"] = older.dump();
  metadata.erase(kChecksumKey);  // which came later still
  write_safetensors(folder_ / "older", weights.tensors(), metadata);
  const ModelFile reread = ModelFile::open(folder_ / "older");
  EXPECT_EQ(fingerprint(reread), hash_tensors(weights.tensors(), hash_text(older.dump())));
}

TEST_F(SessionFileTest, EveryTornFileIsAnError) {
  LanguageModelOptions options = tiny_language_model();
  options.layers = 1;
  options.block.width = 4;
  options.block.values = options.block.shared = 2;
  const auto model = make(options);
  Session session(model, pool_);
  session.feed(std::span(tokens_).first(3));
  session.save(path_);
  const std::string good = read_file(path_);
  const auto read = [&](const std::string& bytes) {
    read_session(StateFile::parse(std::as_bytes(std::span(bytes)), "x"), *model);
  };
  EXPECT_NO_THROW(read(good));
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_THROW(read(bad), Error) << "byte " << i << ", bit " << bit;
    }
    EXPECT_THROW(read(good.substr(0, i)), Error) << i;
  }
}

// Files with a valid checksum and the model's fingerprint, but invalid contents.
TEST_F(SessionFileTest, InvalidContents) {
  const auto model = make(tiny_language_model());
  Session session(model, pool_);
  session.feed(std::span(tokens_).first(18));  // position 5 of the second chunk
  session.save(path_);
  const StateFile good = StateFile::open(path_);
  using Numbers = std::map<std::string, int64_t>;
  using Tensors = std::vector<TensorView>;
  const auto message = [&](const std::function<void(Numbers&, Tensors&)>& change) {
    Numbers numbers = good.numbers;
    Tensors tensors = good.tensors.tensors();
    change(numbers, tensors);
    write_state_file(folder_ / "hostile", good.fingerprint, numbers, tensors);
    return error_of([&] { Session::load(folder_ / "hostile", model, pool_); });
  };
  const auto number = [&](const char* name, int64_t value) {
    return message([&](Numbers& numbers, Tensors&) { numbers[name] = value; });
  };
  const auto tensor = [&](const char* name, const std::function<void(TensorView&)>& change) {
    return message([&](Numbers&, Tensors& tensors) {
      for (TensorView& each : tensors)
        if (each.name == name) change(each);
    });
  };
  EXPECT_PRED2(contains, number("blocks", 1), "blocks does not match");
  EXPECT_PRED2(contains, number("blocks", INT64_MAX), "blocks does not match");
  EXPECT_PRED2(contains, number("cache_bits", 8), "cache_bits does not match");
  EXPECT_PRED2(contains, number("cache_bits", 16), "blocks.0.keys does not match");
  EXPECT_PRED2(contains, number("blocks.0.position", 17), "blocks.0.keys does not match");
  EXPECT_PRED2(contains, number("blocks.1.position", 5), "blocks.1.position does not match");
  EXPECT_PRED2(contains, message([](Numbers& numbers, Tensors&) { numbers.erase("blocks.1.position"); }),
               "has no number \"blocks.1.position\"");
  const auto everywhere = [&](int64_t value) {
    return message([&](Numbers& numbers, Tensors&) {
      numbers["blocks.0.position"] = numbers["blocks.1.position"] = value;
    });
  };
  EXPECT_PRED2(contains, everywhere(17), "blocks.0.keys does not match");
  EXPECT_PRED2(contains, everywhere(INT64_MAX), "blocks.0.position does not match");
  EXPECT_PRED2(contains, everywhere(0), "tensors that do not belong to the state of one text");
  EXPECT_PRED2(contains, everywhere(13), "tensors that do not belong to the state of one text");
  EXPECT_PRED2(contains, tensor("blocks.0.ema", [](TensorView& t) { t.name = "ema"; }),
               "no tensor \"blocks.0.ema\"");
  EXPECT_PRED2(contains, tensor("blocks.0.ema", [](TensorView& t) { t.dtype = DType::I32; }),
               "blocks.0.ema does not match");
  EXPECT_PRED2(contains,
               tensor("blocks.1.values",
                      [](TensorView& t) {
                        t.shape = {5, 1, 24};
                      }),
               "blocks.1.values does not match");
  EXPECT_PRED2(contains,
               tensor("features",
                      [](TensorView& t) {
                        t.shape = {4, 5};
                      }),
               "features does not match");
  EXPECT_PRED2(contains, message([](Numbers&, Tensors& tensors) {
                 tensors.push_back({"blocks.0.padding", DType::BOOL, {0}, {}});
               }),
               "has 1 tensors that do not belong to the state of one text");

  write_state_file(path_, {}, good.numbers, good.tensors.tensors());
  EXPECT_PRED2(contains, error_of([&] { Session::load(path_, model, pool_); }), "has no model fingerprint");
}

// Files written by libtorch have no features: no logits before the next token.
TEST_F(SessionFileTest, FeaturesMayBeMissing) {
  const auto model = make(tiny_language_model());
  Session session(model, pool_);
  session.feed(std::span(tokens_).first(18));
  session.save(path_);
  const StateFile file = StateFile::open(path_);
  auto numbers = file.numbers;
  numbers.erase("cache_bits");
  auto tensors = file.tensors.tensors();
  std::erase_if(tensors, [](const TensorView& tensor) { return tensor.name == "features"; });
  write_state_file(folder_ / "other", file.fingerprint, numbers, tensors);
  Session loaded = Session::load(folder_ / "other", model, pool_);
  EXPECT_THROW(loaded.logits(), Error);
  const int32_t next = 7;
  loaded.feed({&next, 1});
  session.feed({&next, 1});
  EXPECT_EQ(logits(loaded), logits(session));
}

}  // namespace
}  // namespace mega::infer
