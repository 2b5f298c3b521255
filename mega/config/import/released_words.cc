#include "mega/config/import/released_words.h"

#include <array>

namespace mega {
namespace {

// Of several words for one thing, the first is written.
constexpr std::array<Word<NormKind>, 5> kNorms = {{{"layernorm", NormKind::layer},
                                                   {"scalenorm", NormKind::scale},
                                                   {"rmsnorm", NormKind::rms},
                                                   {"batchnorm", NormKind::batch},
                                                   {"syncbatchnorm", NormKind::sync_batch}}};

constexpr std::array<Word<PositionKind>, 2> kPositions = {
    {{"simple", PositionKind::simple}, {"rotary", PositionKind::rotary}}};

constexpr std::array<Word<Activation>, 7> kActivations = {{{"silu", Activation::silu},
                                                           {"swish", Activation::silu},
                                                           {"gelu", Activation::gelu},
                                                           {"gelu_accurate", Activation::gelu_tanh},
                                                           {"gelu_fast", Activation::gelu_tanh},
                                                           {"relu", Activation::relu},
                                                           {"linear", Activation::identity}}};

constexpr std::array<Word<AttentionFunction>, 3> kAttention = {{{"softmax", AttentionFunction::softmax},
                                                                {"relu2", AttentionFunction::relu2},
                                                                {"laplace", AttentionFunction::laplace}}};

template <class Enum, size_t N>
std::string word_for(Enum value, const std::array<Word<Enum>, N>& words, const char* option) {
  for (const auto& [word, known] : words)
    if (known == value) return std::string(word);
  fail("block.", option, " = ", to_string(value), ": the released models have nothing of the kind");
}

}  // namespace

NormKind released_norm(const std::string& word, const std::string& where) {
  return meaning<NormKind>(word, where, std::span(kNorms));
}

PositionKind released_position(const std::string& word, const std::string& where) {
  return meaning<PositionKind>(word, where, std::span(kPositions));
}

Activation released_activation(const std::string& word, const std::string& where) {
  return meaning<Activation>(word, where, std::span(kActivations));
}

AttentionFunction released_attention(const std::string& word, const std::string& where) {
  return meaning<AttentionFunction>(word, where, std::span(kAttention));
}

std::string released_word(NormKind norm) { return word_for(norm, kNorms, "norm"); }
std::string released_word(PositionKind position) { return word_for(position, kPositions, "position"); }
std::string released_word(Activation activation) { return word_for(activation, kActivations, "activation"); }
std::string released_word(AttentionFunction attention) {
  return word_for(attention, kAttention, "attention");
}

}  // namespace mega
