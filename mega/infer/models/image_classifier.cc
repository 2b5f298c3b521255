#include "mega/infer/models/image_classifier.h"

#include <utility>

#include "mega/base/error.h"
#include "mega/config/models/image_positions.h"
#include "mega/infer/layers/pooling.h"
#include "mega/kernels/add.h"
#include "mega/kernels/gates.h"

namespace mega::infer {

using kernels::Rows;

std::shared_ptr<const ImageClassifier> ImageClassifier::open(const std::filesystem::path& path) {
  return std::make_shared<const ImageClassifier>(ModelFile::open(path), path.string());
}

ImageClassifier::ImageClassifier(ModelFile file, const std::string& where, std::optional<PictureSize> size)
    : SequenceModel(std::move(file), where) {
  require(std::holds_alternative<ImageClassifierOptions>(file_.options.model), where,
          " does not classify pictures in patches: it is a model of kind ", file_.options.kind_name());
  if (size) resize(*size);
  options_ = std::get<ImageClassifierOptions>(file_.options.model);
  const int64_t width = options_.block.width, hidden = options_.representation;
  patches_.emplace(weights_, options_, options_.patch, width);
  if (options_.positions) positions_ = weights_.numbers("pos_embed", options_.grid().size() * width).data();
  stack_.emplace(weights_, "", options_.stack());
  at_patches_ = Linear(weights_, "out_proj.fc", width, width);
  if (hidden > 0) representation_ = Linear(weights_, "pre_logits.fc", hidden, width);
  head_ = Linear(weights_, "head", options_.classes, hidden > 0 ? hidden : width);
}

void ImageClassifier::resize(PictureSize size) {
  const ImageClassifierOptions before = std::get<ImageClassifierOptions>(file_.options.model);
  if (!encoder_) signature_.input.input = ImageInput();  // the file does not say, but it reads pictures
  set_picture_size(file_.options, signature_.input, size);
  validate(file_.options);
  if (encoder_) encoder_.emplace(signature_);
  const auto& after = std::get<ImageClassifierOptions>(file_.options.model);
  if (before.grid() == after.grid()) return;
  for (const TensorInfo& tensor : before.tensors()) {
    if (tensor.quantizable || tensor.dtype != DType::F32) continue;
    auto resized =
        resized_positions(before, after, tensor.name, weights_.numbers(tensor.name, tensor.elements()));
    if (resized) weights_.replace(tensor.name, std::move(*resized));
  }
}

std::vector<float> ImageClassifier::outputs(std::span<const SequenceView> documents, const Run& run) const {
  check_documents(documents);
  const SequenceView& picture = documents.front();
  require(picture.length == options_.max_length() &&
              std::ssize(picture.values) == picture.length * options_.channels,
          "this model reads pictures of ", options_.rows(), " by ", options_.columns(), " pixels with ",
          options_.channels, " channel(s), not ", picture.length, " pixels and ", picture.values.size(),
          " numbers");
  const int64_t width = options_.block.width, patches = options_.grid().size();
  const Rows x{run.work.floats(Workspace::kInput, patches * width), width};
  patches_->forward(picture.values, x, run);
  if (positions_ != nullptr)
    run.rows(patches, width, [&](int64_t begin, int64_t end) {
      kernels::add({x.data, width}, {positions_, width}, x, begin, end, width);
    });
  const Segment whole{nullptr, 0, patches};
  stack_->forward(x, patches, {&whole, 1}, run);

  const Rows features{run.work.floats(Workspace::kHidden, patches * width), width};
  multiply(at_patches_, {x.data, width}, features, patches, run);
  run.rows(patches, width, [&](int64_t begin, int64_t end) {
    kernels::activate(Activation::silu, {}, {features.data, width}, features, begin, end, width);
  });
  std::vector<float> pooled(static_cast<size_t>(width));
  mean_of_rows({features.data, width}, patches, width, pooled.data());
  if (const int64_t hidden = options_.representation; hidden > 0) {
    std::vector<float> representation(static_cast<size_t>(hidden));
    multiply(representation_, {pooled.data(), width}, {representation.data(), hidden}, 1, run);
    kernels::activate(Activation::silu, {}, {representation.data(), hidden}, {representation.data(), hidden},
                      0, 1, hidden);
    pooled = std::move(representation);
  }
  std::vector<float> outputs(static_cast<size_t>(options_.classes));
  multiply(head_, {pooled.data(), std::ssize(pooled)}, {outputs.data(), options_.classes}, 1, run);
  return outputs;
}

}  // namespace mega::infer
