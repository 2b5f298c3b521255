#include "mega/config/import/released_words.h"

namespace mega {

NormKind released_norm(const std::string& word, const std::string& where) {
  return meaning<NormKind>(word, where,
                           {{"layernorm", NormKind::layer},
                            {"scalenorm", NormKind::scale},
                            {"rmsnorm", NormKind::rms},
                            {"batchnorm", NormKind::batch},
                            {"syncbatchnorm", NormKind::sync_batch}});
}

PositionKind released_position(const std::string& word, const std::string& where) {
  return meaning<PositionKind>(word, where,
                               {{"simple", PositionKind::simple}, {"rotary", PositionKind::rotary}});
}

Activation released_activation(const std::string& word, const std::string& where) {
  return meaning<Activation>(word, where,
                             {{"silu", Activation::silu},
                              {"swish", Activation::silu},
                              {"gelu", Activation::gelu},
                              {"gelu_accurate", Activation::gelu_tanh},
                              {"gelu_fast", Activation::gelu_tanh},
                              {"relu", Activation::relu},
                              {"linear", Activation::identity}});
}

AttentionFunction released_attention(const std::string& word, const std::string& where) {
  return meaning<AttentionFunction>(word, where,
                                    {{"softmax", AttentionFunction::softmax},
                                     {"relu2", AttentionFunction::relu2},
                                     {"laplace", AttentionFunction::laplace}});
}

}  // namespace mega
