// Any bytes as the state of a session: either the session goes on from there, or there is an Error.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/files/tensor_hash.h"
#include "mega/base/hash.h"
#include "mega/base/strings.h"
#include "mega/infer/session.h"
#include "mega/infer/session_file.h"
#include "tests/fuzz/edited_file.h"
#include "tests/infer/tiny_model.h"

namespace {

using namespace mega;

constexpr int32_t kTokens[] = {2, 70, 80, 90, 100, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83};

// A model, and the state of a session of it.
struct Fixture {
  Fixture() {
    const TemporaryFolder folder;
    testing::write_random_model(folder.path() / "model", {testing::tiny_language_model()});
    model = infer::LanguageModel::open(folder.path() / "model");
    infer::Session session(model, pool);
    session.feed(kTokens);
    session.save(folder.path() / "state");
    state = read_file(folder.path() / "state");
  }

  std::shared_ptr<const infer::LanguageModel> model;
  std::shared_ptr<infer::ThreadPool> pool = std::make_shared<infer::ThreadPool>(1);
  std::string state;
};

void go_on(const Fixture& fixture, std::span<const std::byte> bytes) {
  infer::SavedSession saved = infer::read_session(StateFile::parse(bytes, "fuzz"), *fixture.model);
  infer::Workspace work;
  const infer::Run run{*fixture.pool, work};
  for (const size_t count : {1, 6, 9}) {
    const infer::Segment segment{&saved.state, 0, static_cast<int64_t>(count)};
    fixture.model->read(std::span(kTokens).first(count), {&segment, 1}, run);
  }
}

// The good state with changes, and the checksum of what it has become.
std::string changed(const Fixture& fixture, FuzzedDataProvider& choices) {
  testing::EditedFile file(Safetensors::parse(std::as_bytes(std::span(fixture.state)), "good"));
  file.edit(choices);
  uint64_t sum = 0;
  file.metadata.erase("checksum");
  for (const auto& [key, text] : file.metadata) sum = hash_text(text, hash_text(key, sum));
  file.metadata["checksum"] = hexadecimal(hash_tensors(file.tensors(), sum));
  return file.bytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Fixture fixture;
  FuzzedDataProvider choices(data, size);
  const std::string bytes =
      choices.ConsumeBool() ? changed(fixture, choices) : choices.ConsumeRemainingBytesAsString();
  try {
    go_on(fixture, std::as_bytes(std::span(bytes)));
  } catch (const Error&) {
  }
  return 0;
}
