// What TorchWriter writes, PyTorch reads: libtorch's own reader of such files.
#include "mega/base/pytorch/torch_writer.h"

#include <gtest/gtest.h>
#include <torch/serialize.h>

#include "mega/base/files/file.h"
#include "mega/ops/torch.h"
#include "tests/base/helpers.h"

namespace mega::testing {
namespace {

TEST(TorchWriter, IsReadByLibtorch) {
  const std::vector<float> matrix = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> count = {int64_t{1} << 40};
  const TensorView floats{"m", DType::F32, {2, 3}, std::as_bytes(std::span(matrix))};
  TorchWriter writer;
  PickleWriter& values = writer.values();
  values.begin_dict();
  values.text("matrix");
  writer.tensor(floats);
  values.text("tied");
  writer.tensor(floats);
  values.text("count");
  writer.tensor({"c", DType::I64, {}, std::as_bytes(std::span(count))});
  values.text("list");
  values.begin_list();
  values.integer(-3);
  values.integer(int64_t{1} << 40);
  values.end_list();
  values.text("number");
  values.real(0.1);
  values.text("none");
  values.none();
  values.text("flag");
  values.boolean(true);
  values.end_dict();
  const ScratchFolder folder;
  writer.write(folder / "file.pt");

  const std::string bytes = read_file(folder / "file.pt");
  const c10::IValue root = torch::pickle_load({bytes.begin(), bytes.end()});
  const auto dict = root.toGenericDict();
  EXPECT_TRUE(torch::equal(dict.at("matrix").toTensor(), torch::arange(1.0f, 7.0f).view({2, 3})));
  EXPECT_TRUE(torch::equal(dict.at("tied").toTensor(), dict.at("matrix").toTensor()));
  EXPECT_EQ(dict.at("count").toTensor().item<int64_t>(), int64_t{1} << 40);
  EXPECT_EQ(dict.at("list").toListRef()[0].toInt(), -3);
  EXPECT_EQ(dict.at("list").toListRef()[1].toInt(), int64_t{1} << 40);
  EXPECT_EQ(dict.at("number").toDouble(), 0.1);
  EXPECT_TRUE(dict.at("none").isNone());
  EXPECT_TRUE(dict.at("flag").toBool());
}

}  // namespace
}  // namespace mega::testing
