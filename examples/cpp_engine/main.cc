// Writes on from a text, always with the likeliest token: a trained model without libtorch.
//
//   find_package(Mega REQUIRED COMPONENTS engine)
//   target_link_libraries(cpp_engine PRIVATE Mega::infer)
#include <cmath>
#include <exception>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

// [snippet]
#include "mega/infer/generation/log_probability.h"
#include "mega/infer/generation/text_generator.h"
#include "mega/infer/session.h"
#include "mega/text/tokens.h"
// [end]

static void write_on(const std::string& path, const std::string& prompt, int64_t tokens) {
  // [snippet]
  using namespace mega::infer;
  const auto model = LanguageModel::open(path);  // immutable: share it between threads
  const auto session = std::make_shared<Session>(model, std::make_shared<ThreadPool>());

  GenerateOptions options;
  options.max_tokens = tokens;
  options.sampler.temperature = 0;  // always the likeliest token; or top_k, top_p, seed, ...
  TextGenerator text(session, model->tokenizer(), model->tokenizer().encode(prompt), options);
  for (std::string piece = text.next(); !piece.empty(); piece = text.next()) std::cout << piece << std::flush;

  Session other = session->fork();                                                // or save and load
  const double line_end = std::exp(log_probability(other.logits(), mega::kEnd));  // as the next token
  other.feed(model->tokenizer().encode("\nthe"));                                 // in pieces of any size
  std::cout << "\n"
            << session->position() << " and " << other.position()
            << " tokens read; p(line end) = " << std::setprecision(3) << line_end << "\n";
  // [end]
}

int main(int argc, char** argv) try {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: cpp_engine MODEL PROMPT [TOKENS]\n";
    return 2;
  }
  std::cout << argv[2];
  write_on(argv[1], argv[2], argc > 3 ? std::stoll(argv[3]) : 100);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "cpp_engine: " << error.what() << "\n";
  return 1;
}
