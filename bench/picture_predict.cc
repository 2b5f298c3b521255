#include "bench/picture_predict.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/measure.h"
#include "bench/random_model.h"
#include "mega/base/error.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/strings.h"
#include "mega/config/recipe/presets.h"
#include "mega/infer/models/open_model.h"
#include "mega/infer/models/side_by_side.h"
#include "mega/infer/quantize.h"
#include "mega/report/table.h"

namespace mega::bench {
namespace {

// As photographs of data sets are.
constexpr int64_t kHeight = 375, kWidth = 500;

std::vector<data::Record> random_pictures(int64_t count) {
  std::mt19937 random(1);
  std::vector<data::Record> records(static_cast<size_t>(count));
  for (data::Record& record : records) {
    record.picture = data::Picture(kHeight, kWidth, 3);
    for (uint8_t& sample : record.picture.samples) sample = static_cast<uint8_t>(random());
  }
  return records;
}

// One model, and what it is timed with.
struct Case {
  PicturePredictRow row;
  std::shared_ptr<infer::SideBySide> model;
  std::vector<double> seconds = {};  // of a picture
};

}  // namespace

PicturePredictTable run_picture_predict(const PicturePredictSettings& settings) {
  const Recipe recipe = load_recipe(settings.preset);
  require(image_options(recipe.model) != nullptr && recipe.model.kind().runs_in_engine(),
          "this benchmark needs a preset of a Mega model of pictures; ", in_quotes(settings.preset),
          " is not one");
  Signature signature;
  signature.input = recipe.input;
  for (int64_t i = 0; i < image_options(recipe.model)->classes; ++i)
    signature.classes.push_back(std::to_string(i));
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name) { return folder.path() / name; };
  write_random_model(file("f32"), recipe.model, &signature);
  infer::quantize(file("f32"), file("bf16"), kernels::WeightType::bf16);
  infer::quantize(file("f32"), file("int8"), kernels::WeightType::i8);

  infer::ThreadPool pool(settings.threads);
  const std::vector<data::Record> pictures = random_pictures(settings.batch);
  std::vector<std::shared_ptr<const infer::SequenceModel>> models;
  std::vector<Case> cases;
  for (const char* weights : {"f32", "bf16", "int8"}) {
    models.push_back(infer::open_model(file(weights)));
    const auto model = std::make_shared<infer::SideBySide>(*models.back(), pool);
    for (const int64_t count : {int64_t{1}, settings.batch})
      if (count == 1 || settings.batch > 1) cases.push_back({{weights, count, 0.0, 0.0}, model});
  }

  const Candidate product = sgemm();
  std::vector<double> rates;
  for (int round = -1; round < settings.repeats; ++round) {  // the first warms up
    for (Case& one : cases) {
      const double rate = product.flops / seconds_of(product.run);
      const auto some = std::span(pictures).first(static_cast<size_t>(one.row.pictures));
      const double seconds = seconds_of([&] { one.model->outputs(some); });
      if (round < 0) continue;
      rates.push_back(rate);
      one.seconds.push_back(seconds / static_cast<double>(one.row.pictures));
    }
  }
  const ImageOptions& options = *image_options(recipe.model);
  const double flops =
      2.0 * options.multiply_adds(options.max_length()) * static_cast<double>(options.max_length());
  PicturePredictTable table{median(rates), options.rows(), options.columns(), {}};
  for (Case& one : cases) {
    one.row.seconds_per_picture = median(one.seconds);
    one.row.share_of_sgemm = flops / one.row.seconds_per_picture / table.sgemm;
    table.rows.push_back(one.row);
  }
  return table;
}

std::string PicturePredictTable::markdown() const {
  Table rows_of({"weights", "pictures side by side", "ms per picture", "pictures/s", "share of sgemm"});
  for (const PicturePredictRow& row : rows)
    rows_of.add({row.weights, std::to_string(row.pictures), number("%.1f", 1e3 * row.seconds_per_picture),
                 number("%.1f", 1.0 / row.seconds_per_picture),
                 number("%.0f %%", 100.0 * row.share_of_sgemm)});
  return "pictures of " + std::to_string(height) + " by " + std::to_string(width) + ", sgemm " +
         number("%.1f", 1e-9 * sgemm) + " GFLOP/s\n\n" + rows_of.markdown();
}

std::string PicturePredictTable::json() const {
  nlohmann::ordered_json report = {{"sgemm_flops", sgemm}, {"height", height}, {"width", width}};
  for (const PicturePredictRow& row : rows)
    report["rows"].push_back({{"weights", row.weights},
                              {"pictures", row.pictures},
                              {"seconds_per_picture", row.seconds_per_picture},
                              {"share_of_sgemm", row.share_of_sgemm}});
  return report.dump(2) + "\n";
}

}  // namespace mega::bench
