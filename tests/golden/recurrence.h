// Golden files of recurrent models, S4 and S4D and the LSTM, and of Megalodon's complex EMA and timestep
// norm.
#pragma once

#include <string>

#include "mega/baselines/hippo.h"
#include "mega/baselines/lstm.h"
#include "mega/baselines/s4.h"
#include "mega/baselines/s4_layer.h"
#include "mega/baselines/state_space_kernel.h"
#include "mega/nn/ema.h"
#include "mega/nn/timestep_norm.h"
#include "mega/ops/linear.h"
#include "mega/ops/long_convolution.h"
#include "mega/ops/state_space.h"
#include "tests/golden/golden.h"
#include "tests/golden/options.h"
#include "tests/golden/streams.h"

namespace mega::testing {

inline void hippo_case(Golden& golden) {
  const int64_t n = golden.number("N");
  golden.ignore({"training"});
  const auto [a, b, p] = baselines::hippo_legs(n);
  golden.value("out.A", a);
  golden.value("out.B", b);
  golden.value("out.P_real", p);
  const auto diagonal = baselines::diagonal_legs(n);
  golden.value("out.Lambda", diagonal.lambda);
  golden.value("out.abs_B", diagonal.b.square().sum(-1).sqrt());
  golden.value("out.abs_P", diagonal.p.square().sum(-1).sqrt());
  golden.value("out.B_conj_P", torch::view_as_real(torch::view_as_complex(diagonal.b) *
                                                   torch::view_as_complex(diagonal.p).conj()));
  golden.value("out.s4d_inv", baselines::s4d_lambda(S4Frequencies::inv, n));
  golden.value("out.s4d_lin", baselines::s4d_lambda(S4Frequencies::lin, n));
}

// What kernels and layers of state-spaces/s4 have in common.
template <class Options>
void set_state_space(Golden& golden, Options& options) {
  options.width = golden.number("d_model");
  options.state = golden.number("d_state");
  options.copies = golden.number("n_ssm");
  if (golden.has_option("stored_state"))
    require(golden.number("stored_state") == options.pairs(), "stored_state is not half of the state");
  if (golden.has_option("dt_transform"))
    options.step =
        golden.choice<StepForm>("dt_transform", {{"exp", StepForm::exp}, {"softplus", StepForm::softplus}});
  golden.ignore(
      {"rank", "init", "l_max", "real_transform", "imag_transform", "mode", "activation", "final_act"});
  options.bidirectional =
      golden.has_option("channels") ? golden.number("channels") == 2 : golden.flag("bidirectional");
}

inline S4LayerOptions s4_layer_options(Golden& golden) {
  S4LayerOptions options;
  set_state_space(golden, options);
  if (golden.has_option("disc")) golden.choice<bool>("disc", {{"bilinear", true}});
  options.kernel_length = golden.number("l_max");
  return options;
}

inline S4DLayerOptions s4d_layer_options(Golden& golden) {
  S4DLayerOptions options;
  set_state_space(golden, options);
  options.discretization = golden.choice<Discretization>(
      "disc", {{"zoh", Discretization::zoh}, {"bilinear", Discretization::bilinear}});
  return options;
}

// The kernel through its recurrence: the response to an impulse.
inline Tensor impulse_response(baselines::StateSpaceKernel& kernel, int64_t width, int64_t length,
                               const Lengths& lengths) {
  const torch::NoGradGuard guard;
  Tensor impulse = torch::zeros({1, length, width}), state;
  impulse.select(1, 0).fill_(1.0);
  const Tensor y = stream(impulse, {}, lengths,
                          [&](const Tensor& piece, const Tensor&) { return kernel.carry(piece, state); });
  return y.transpose(1, 2);
}

inline void check_kernel(Golden& golden, baselines::StateSpaceKernel& kernel,
                         const StateSpaceOptions& options) {
  golden.load(kernel);
  const int64_t length = golden.number("l_max");
  const auto [past, future] = kernel.kernels(length);
  golden.check({{"kernel", options.bidirectional ? torch::stack({past, future}) : past.unsqueeze(0)},
                {"y", options.bidirectional ? torch::stack({past, future}) : past.unsqueeze(0)}});
  if (options.bidirectional) return;
  golden.aux("kernel_by_steps", impulse_response(kernel, options.width, length, single_steps(length)));
  golden.aux("kernel_by_steps", impulse_response(kernel, options.width, length, {length}));
}

inline void check_length(Golden& golden) {
  require(golden.take("param.l_kernel").item<int64_t>() == golden.number("l_max"), "l_kernel is not l_max");
}

inline void s4_kernel_case(Golden& golden) {
  const S4LayerOptions options = s4_layer_options(golden);
  check_length(golden);
  check_kernel(golden, *baselines::make_kernel(options), options);
}

inline void s4d_kernel_case(Golden& golden) {
  const S4DLayerOptions options = s4d_layer_options(golden);
  check_kernel(golden, *baselines::make_kernel(options), options);
}

inline void check_layer(Golden& golden, baselines::S4Layer layer, baselines::StateSpaceKernel& kernel,
                        const StateSpaceOptions& options) {
  golden.load(*layer);
  const Tensor x = golden.input("x");
  const int64_t length = x.size(1);
  Tensor mask;
  if (const Tensor lengths = golden.optional_input("lengths"); lengths.defined())
    mask = torch::arange(length) >= lengths.unsqueeze(1);
  golden.check({{"y", layer->forward(x, mask)}});
  const auto [past, future] = kernel.kernels(length);
  golden.aux("kernel", options.bidirectional ? torch::stack({past, future}) : past.unsqueeze(0));
  if (options.bidirectional) return;
  const torch::NoGradGuard guard;
  Tensor state;
  const auto run = [&](const Lengths& lengths) {
    state = Tensor();
    return stream(x, mask, lengths, [&](const Tensor& piece, const Tensor& piece_mask) {
      return layer->forward(piece, piece_mask, &state);
    });
  };
  golden.aux("steps", run(single_steps(length)));
  check_other_cuts(golden, length, run);
  if (!golden.has("aux.second_pass_with_state")) return;
  run({length});
  golden.aux("final_state", state.view({x.size(0), options.width, options.pairs(), 2}));
  golden.aux("second_pass_with_state", layer->forward(x, mask, &state));
  golden.aux("second_pass_state", state.view({x.size(0), options.width, options.pairs(), 2}));
}

inline void s4_layer_case(Golden& golden) {
  const S4LayerOptions options = s4_layer_options(golden);
  require(golden.take("param.layer.kernel.l_kernel").item<int64_t>() == options.kernel_length,
          "l_kernel is not l_max");
  const auto kernel = baselines::make_kernel(options);
  check_layer(golden, baselines::S4Layer(options, kernel), *kernel, options);
}

inline void s4d_layer_case(Golden& golden) {
  const S4DLayerOptions options = s4d_layer_options(golden);
  const auto kernel = baselines::make_kernel(options);
  check_layer(golden, baselines::S4Layer(options, kernel), *kernel, options);
}

// The small S4D module: B is 1, and A has a positive frequency.
inline void s4d_minimal_case(Golden& golden) {
  golden.ignore({"d_model", "d_state", "training"});
  const auto p = [&](const char* name) { return golden.parameter(name); };
  const Tensor lambda = torch::stack({-p("kernel.log_A_real").exp(), p("kernel.A_imag")}, -1);
  const Tensor one = torch::tensor({1.0f, 0.0f}).expand_as(lambda), x = golden.input("x");
  const auto system = ops::discretized(lambda, one, 2 * p("kernel.C"), p("kernel.log_dt").exp().unsqueeze(1),
                                       Discretization::zoh);
  const Tensor kernel = ops::diagonal_kernel(system, x.size(2)), u = x.transpose(1, 2);
  const Tensor y = ops::long_convolution(u, kernel, {}, {}) + p("D") * u;
  const Tensor mixed =
      ops::linear(torch::gelu(y), p("output_linear.0.weight").squeeze(-1), p("output_linear.0.bias"));
  golden.check({{"y", torch::glu(mixed, -1).transpose(1, 2)}});
  golden.aux("kernel", kernel);
}

// As first published.
inline void s4_first_case(Golden& golden) {
  S4LayerOptions options;
  options.release = S4Release::v1;
  options.width = golden.number("d_model");
  options.state = golden.number("d_state");
  options.kernel_length = golden.number("l_max");
  options.bidirectional = golden.flag("bidirectional");
  options.glu = false;
  require(!golden.flag("length_correction"), "length_correction: C is used as it is");
  golden.ignore({"stored_state", "activation", "postact"});
  const auto kernel = baselines::make_kernel(options);
  baselines::S4Layer layer(options, kernel);
  golden.load(*layer, [](const std::string& name) {
    if (name == "layer.D") return std::string("D");
    if (name.starts_with("layer.kernel.")) return "kernel.krylov." + name.substr(13);
    return "output_linear." + name.substr(name.rfind('.') + 1);
  });
  for (const char* table : {"nodes", "z"}) golden.take(std::string("param.kernel.krylov.") + table);
  const Tensor x = golden.input("x").transpose(1, 2);
  golden.check({{"y", layer->forward(x, {}).transpose(1, 2)}});
  golden.aux("kernel", kernel->kernels(x.size(1)).past);
  check_other_cuts(golden, x.size(1), [&](const Lengths& lengths) {
    const torch::NoGradGuard guard;
    Tensor state;
    return stream(x, {}, lengths,
                  [&](const Tensor& piece, const Tensor&) { return layer->forward(piece, {}, &state); })
        .transpose(1, 2);
  });
}

inline void s4_model_case(Golden& golden) {
  S4Options options;
  set_state_space(golden, options);
  options.step = StepForm::softplus;
  options.kernel_length = golden.number("l_max");
  options.layers = golden.number("layers");
  options.vocabulary = golden.number("vocab_size");
  options.classes = golden.number("classes");
  options.norm = golden.choice<NormKind>("norm", {{"batch", NormKind::batch}, {"layer", NormKind::layer}});
  options.prenorm = golden.flag("prenorm");
  golden.choice<bool>("pooling", {{"mean over the true length", true}});
  baselines::S4 model(options);
  golden.load(*model, [](std::string name) {
    const std::string encoder = "encoder.encoder.", inner = ".norm.";
    if (name.starts_with("sentence_projection_layer.")) return "decoder" + name.substr(name.rfind('.'));
    name = name.substr(encoder.size());
    if (name == "embed_tokens.weight") return std::string("encoder.weight");
    if (const size_t at = name.find(inner); at != std::string::npos) name.erase(at, inner.size() - 1);
    return name;
  });
  for (int64_t i = 0; i < options.layers; ++i)
    golden.take("param.blocks." + std::to_string(i) + ".layer.kernel.l_kernel");
  const models::Sequences batch{golden.input("tokens"), golden.input("src_lengths")};
  golden.check({{"y", model->predict({batch})}});
  const torch::NoGradGuard guard;
  golden.aux("sentence_rep", model->encode(batch));
}

inline void lstm_case(Golden& golden) {
  LstmOptions options;
  options.width = golden.number("encoder_embed_dim");
  options.hidden = golden.number("encoder_ffn_embed_dim");
  options.layers = golden.number("encoder_layers");
  options.vocabulary = golden.number("vocab_size");
  options.classes = golden.number("sentence_class_num");
  options.head = golden.number("classifier_out_dim");
  options.pooling = golden.choice<Pooling>("sen_rep_type", {{"cls", Pooling::last}, {"mp", Pooling::mean}});
  baselines::Lstm model(options);
  golden.load(*model);
  const models::Sequences batch{golden.input("tokens"), golden.input("src_lengths")};
  const Tensor logits = model->predict({batch});
  golden.check({{"y", logits}});
  golden.aux(
      "nll_sum",
      torch::nll_loss(logits.log_softmax(1), golden.input("target"), {}, at::Reduction::Sum).reshape({1}));
  const torch::NoGradGuard guard;
  golden.aux("sentence_rep", model->encode(batch));
}

// Megalodon's, (batch, channel, time) in the files.
inline void complex_ema_case(Golden& golden) {
  EmaOptions options;
  options.kind = EmaKind::complex;
  options.dimension = golden.number("ndim");
  options.bidirectional = options.activated = false;
  golden.choice<bool>("causal", {{"True", true}});
  nn::Ema ema(golden.number("embed_dim"), options);
  golden.load(*ema);
  const Tensor x = golden.input("x").transpose(1, 2);
  std::vector<Tensor> states;
  const auto run = [&](const Lengths& lengths) {
    states.assign(1, Tensor());
    return stream(x, {}, lengths,
                  [&](const Tensor& piece, const Tensor&) {
                    states.push_back(states.back());
                    return ema->forward(piece, {}, &states.back());
                  })
        .transpose(1, 2);
  };
  const auto complex = [&](const Tensor& state) { return state.view({x.size(0), x.size(2), -1, 2}); };
  const Tensor y = run(segments(golden));
  golden.check({{"y", y}, {"state", complex(states.back())}});
  golden.aux("state_after_first", complex(states[1]));
  const torch::NoGradGuard guard;
  const Tensor whole = ema->forward(x).transpose(1, 2);
  golden.value("out.y", whole, " (at once)");
  golden.aux("parallel", whole);
  check_other_cuts(golden, x.size(1), run);
  golden.aux("state_parallel", complex(states.back()));
  const ops::DiagonalSystem system = ema->complex_coefficients();
  golden.aux("kernel", ops::diagonal_kernel(system, x.size(1)));
  golden.aux("p", system.input.select(-1, 0));
  golden.aux("q", torch::view_as_real(torch::polar(system.decay.exp(), system.phase)));
}

inline void timestep_norm_case(Golden& golden) {
  require(golden.real("eps") == 1e-5, "eps is not 1e-5");
  const int64_t groups = golden.number("num_groups"), prior = golden.number("prior_count");
  nn::TimestepNorm norm(golden.number("num_features"), groups, true, prior);
  golden.load(*norm);
  require(golden.take("param.prior_count").item<int64_t>() == prior, "prior_count is not the option");
  if (prior == 0)  // then they have no influence
    for (const std::string name : {"prior_mean", "prior_logv"}) {
      golden.take("param." + name);
      if (golden.has("grad.param." + name)) require(largest(golden.take("grad.param." + name)) == 0.0, name);
    }
  const Tensor x = golden.input("x"), mask = golden.optional_input("padding_mask");
  Tensor state;
  const auto run = [&](const Lengths& lengths) {
    state = Tensor();
    return stream(x, mask, lengths, [&](const Tensor& piece, const Tensor& piece_mask) {
      return norm->forward(piece, piece_mask, &state);
    });
  };
  const Tensor y = run(segments(golden));
  golden.check({{"y", y},
                {"mean", state.narrow(1, 1, groups)},
                {"var", state.narrow(1, 1 + groups, groups)},
                {"count", state.select(1, 0).round().to(torch::kInt64)}});
  const torch::NoGradGuard guard;
  golden.value("out.y", norm->forward(x, mask), " (at once)");
  check_other_cuts(golden, x.size(1), run);
}

}  // namespace mega::testing
