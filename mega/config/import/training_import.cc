#include "mega/config/import/training_import.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/pytorch/torch_tensor.h"
#include "mega/base/strings.h"
#include "mega/config/import/released_words.h"

namespace mega {
namespace {

// The parameters of a model in the order of the program's modules, which is that of the file; tied tensors
// count once, under their first name.
std::vector<TensorInfo> ordered_parameters(const PickleValue& root, const ModelOptions& options,
                                           const std::string& where) {
  std::map<std::string, TensorInfo> parameters;
  for (TensorInfo& info : options.kind().tensors())
    if (info.is_parameter && info.tied_to.empty()) parameters.emplace(info.name, std::move(info));
  std::vector<TensorInfo> ordered;
  for (const PickleEntry& entry : root.at("model", where).entries(where + ": model")) {
    std::string name(entry.key.text(where + ": name of a tensor"));
    if (name.starts_with("module.")) name.erase(0, 7);
    if (const auto found = parameters.find(name); found != parameters.end()) ordered.push_back(found->second);
  }
  return ordered;
}

// A whole number that may stand as a tensor of one element.
int64_t count_of(const PickleValue& value, const std::string& where) {
  if (!value.is_tensor()) return value.integer(where);
  const TorchTensor& tensor = value.tensor(where);
  require(tensor.elements() == 1, where, ": expected one number, got a tensor of shape ",
          shape_text(tensor.shape()));
  float number = 0;
  tensor.read(0, std::span(&number, 1));
  return static_cast<int64_t>(number);
}

// Reads {'state': {index: {'step', 'exp_avg', 'exp_avg_sq'}}, 'param_groups': [...]} for the parameters in
// the order of their indices. A parameter that never had a gradient has no entry: its moments are 0.
class MomentReader {
 public:
  MomentReader(const PickleValue& optimizer, const std::vector<TensorInfo>& parameters, std::string where)
      : optimizer_(optimizer), parameters_(parameters), where_(std::move(where)) {}

  void read(ImportedTraining& training) {
    const auto groups = optimizer_.at("param_groups", where_).items(where_ + ": param_groups");
    int64_t count = 0;
    for (const PickleValue& group : groups)
      count += std::ssize(group.at("params", where_).items(where_ + ": params"));
    require(count == std::ssize(parameters_), where_, ": has the moments of ", count,
            " parameters, the model has ", parameters_.size(),
            count == 1 ? ": training in half precision keeps one flat copy of all, which cannot be "
                         "continued; import without --training-state"
                       : "");
    std::map<int64_t, const PickleValue*> states;
    for (const PickleEntry& entry : optimizer_.at("state", where_).entries(where_ + ": state"))
      states[entry.key.integer(where_ + ": index of a parameter")] = &entry.value;
    // apex keeps one number of updates for all.
    const PickleValue* shared = groups.empty() ? nullptr : groups[0].find("step");
    if (shared != nullptr) training.adam_updates = count_of(*shared, where_ + ": step");
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const auto found = states.find(static_cast<int64_t>(i));
      read_one(training, parameters_[i], found == states.end() ? nullptr : found->second, shared == nullptr);
    }
  }

 private:
  void read_one(ImportedTraining& training, const TensorInfo& info, const PickleValue* state, bool own_step) {
    const std::string where = where_ + ": " + info.name;
    if (state != nullptr && own_step) {
      const int64_t step = count_of(state->at("step", where), where + ": step");
      require(training.adam_updates == 0 || training.adam_updates == step, where, ": has seen ", step,
              " updates, others ", training.adam_updates, ": such a state cannot be continued");
      training.adam_updates = step;
    }
    for (const auto& [theirs, ours] : {std::pair{"exp_avg", "mean."}, std::pair{"exp_avg_sq", "square."}}) {
      std::vector<float>& values = training.moments.floats.emplace_back(static_cast<size_t>(info.elements()));
      if (state != nullptr) {
        const TorchTensor& tensor = state->at(theirs, where).tensor(where + ": " + theirs);
        require(tensor.shape() == info.shape, where, ": ", theirs, " has the shape ",
                shape_text(tensor.shape()), ", expected ", shape_text(info.shape));
        tensor.read(0, values);
      }
      training.moments.tensors.push_back(
          {ours + info.name, DType::F32, info.shape, std::as_bytes(std::span(values))});
    }
  }

  const PickleValue& optimizer_;
  const std::vector<TensorInfo>& parameters_;
  std::string where_;
};

// "(0.9, 0.98)", which the released program evaluates as Python, or a list of numbers.
std::pair<double, double> betas(const SavedArguments& arguments, const char* name) {
  std::vector<double> numbers;
  if (arguments.is_text(name)) {
    const std::string text = arguments.text(name).value_or("");
    std::string_view inside = trim(text);
    const bool enclosed = inside.size() >= 2 && (inside.starts_with('(') || inside.starts_with('['));
    if (enclosed) inside = inside.substr(1, inside.size() - 2);
    for (const std::string& part : split(inside, ',')) {
      const std::string_view digits = trim(part);
      double number = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      require(error == std::errc() && end == digits.data() + digits.size(), arguments.where(name),
              ": expected two numbers, got ", in_quotes(text));
      numbers.push_back(number);
    }
  } else {
    numbers = arguments.numbers(name).value_or(std::vector<double>{0.9, 0.98});
  }
  require(numbers.size() == 2, arguments.where(name), ": expected two numbers, got ", numbers.size());
  return {numbers[0], numbers[1]};
}

void set_batch(TrainOptions& train, const SavedArguments& arguments) {
  if (const auto sentences = arguments.integer("max_sentences")) {
    train.batch = *sentences;
    train.batch_unit = BatchUnit::examples;
  } else if (const auto tokens = arguments.integer("max_tokens")) {
    train.batch = *tokens;
    train.batch_unit = BatchUnit::tokens;
  }
  const auto repeats = arguments.integers("update_freq");
  train.accumulation = (repeats && !repeats->empty() ? repeats->front() : 1) *
                       arguments.integer("distributed_world_size").value_or(1);
}

TrainOptions fairseq_train_options(const SavedArguments& arguments) {
  TrainOptions train;
  train.seed = arguments.integer("seed").value_or(1);
  const auto rates = arguments.numbers("lr");
  if (rates && !rates->empty()) train.learning_rate = rates->front();
  train.initial_learning_rate = arguments.number("warmup_init_lr").value_or(1e-7);
  train.final_learning_rate = arguments.number("end_learning_rate").value_or(0.0);
  train.schedule = meaning<Schedule>(arguments.text("lr_scheduler").value_or("linear_decay"),
                                     arguments.where("lr_scheduler"),
                                     {{"linear_decay", Schedule::linear},
                                      {"inverse_sqrt", Schedule::inverse_sqrt},
                                      {"cosine", Schedule::cosine},
                                      {"fixed", Schedule::constant}});
  train.warmup = arguments.integer("warmup_updates").value_or(0);
  train.warmup_power = arguments.number("warmup_power").value_or(1.0);
  const auto total = arguments.integer("total_num_update");
  train.updates = total ? *total : arguments.integer("max_update").value_or(train.updates);
  set_batch(train, arguments);
  std::tie(train.beta1, train.beta2) = betas(arguments, "adam_betas");
  train.epsilon = arguments.number("adam_eps").value_or(1e-8);
  train.weight_decay = arguments.number("weight_decay").value_or(0.0);
  train.clip = arguments.number("clip_norm").value_or(0.0);
  train.label_smoothing = arguments.number("label_smoothing").value_or(0.0);
  train.blocks.min_chunks = arguments.integer("variant_block_multiple_min").value_or(1);
  train.blocks.max_chunks = arguments.integer("variant_block_multiple_max").value_or(1);
  train.blocks.chunk = std::max<int64_t>(arguments.integer("decoder_chunk_size").value_or(0), 0);
  return train;
}

// Updates of an epoch of ImageNet, whose size the checkpoint does not say: pictures in whole pieces of 256.
int64_t updates_per_epoch(const SavedArguments& arguments) {
  constexpr int64_t kPictures = 1'281'167 / 256 * 256;
  const int64_t batch =
      arguments.integer("batch_size").value_or(128) * arguments.integer("world_size").value_or(8);
  require(batch > 0 && batch <= kPictures, arguments.where("batch_size"), ": ", batch,
          " pictures in an update");
  return kPictures / batch;
}

TrainOptions image_train_options(const SavedArguments& arguments) {
  TrainOptions train;
  train.hold = updates_per_epoch(arguments);
  train.seed = arguments.integer("seed").value_or(42);
  train.learning_rate = arguments.number("lr").value_or(2e-3);
  train.initial_learning_rate = arguments.number("warmup_lr").value_or(1e-5);
  train.final_learning_rate = arguments.number("min_lr").value_or(1e-6);
  train.schedule = meaning<Schedule>(arguments.text("sched").value_or("cosine"), arguments.where("sched"),
                                     {{"cosine", Schedule::cosine_full}});
  train.warmup = arguments.integer("warmup_epochs").value_or(20) * train.hold;
  train.updates = arguments.integer("epochs").value_or(300) * train.hold;
  train.batch = arguments.integer("batch_size").value_or(128);
  train.accumulation = arguments.integer("world_size").value_or(8);
  std::tie(train.beta1, train.beta2) = betas(arguments, "opt_betas");
  train.epsilon = arguments.number("opt_eps").value_or(1e-8);
  train.corrected_epsilon = true;
  train.weight_decay = arguments.number("weight_decay").value_or(0.05);
  train.clip = arguments.number("clip_grad").value_or(0.0);
  train.label_smoothing = arguments.number("smoothing").value_or(0.1);
  return train;
}

const PickleValue& optimizer_of(const PickleValue& root, const char* name, const std::string& where) {
  const PickleValue* optimizer = root.find(name);
  require(optimizer != nullptr && optimizer->is_table(), where, ": has no state of the optimizer (", name,
          "): import it without --training-state, and train on with --init");
  require(
      optimizer->find("loss_scale") == nullptr, where,
      ": was trained in half precision, whose state cannot be continued; import without --training-state");
  return *optimizer;
}

}  // namespace

ImportedTraining fairseq_training(const PickleValue& root, const SavedArguments& arguments,
                                  const ModelOptions& options, const std::string& where) {
  ImportedTraining training;
  training.options = fairseq_train_options(arguments);
  const auto history = root.at("optimizer_history", where).items(where + ": optimizer_history");
  require(!history.empty(), where, ": optimizer_history is empty");
  training.update = history.back().at("num_updates", where).integer(where + ": num_updates");
  if (const PickleValue* state = root.find("extra_state"))
    if (const PickleValue* iterator = state->find("train_iterator"))
      training.epoch = iterator->at("epoch", where).integer(where + ": epoch") - 1;  // theirs count from 1
  const PickleValue& optimizer = optimizer_of(root, "last_optimizer_state", where);
  MomentReader(optimizer, ordered_parameters(root, options, where), where + ": last_optimizer_state")
      .read(training);
  return training;
}

ImportedTraining image_release_training(const PickleValue& root, const SavedArguments& arguments,
                                        const ModelOptions& options, const std::string& where) {
  ImportedTraining training;
  training.options = image_train_options(arguments);
  training.epoch = root.at("epoch", where).integer(where + ": epoch") + 1;  // the one that is finished
  training.update = training.epoch * training.options.hold;
  // Two groups: first what does not decay, then what does, each in the order of the modules.
  std::vector<TensorInfo> parameters = ordered_parameters(root, options, where);
  std::stable_partition(parameters.begin(), parameters.end(),
                        [](const TensorInfo& info) { return !info.decays; });
  MomentReader(optimizer_of(root, "optimizer", where), parameters, where + ": optimizer").read(training);
  return training;
}

}  // namespace mega
