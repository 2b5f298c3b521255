# mega import: models of the released program, from checkpoint to answers, without libtorch.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
checkpoints=$tests/checkpoints
cd "$work" || exit 1

# What it found, and the file that other commands read.
expect 0 "mega_lra_listop (lra-text)" import "$checkpoints/lra-listops/model.pt" --out listops.safetensors
expect 0 "3 updates, epoch 2, best accuracy 25" import "$checkpoints/lra-listops/model.pt" --out listops.safetensors
expect 0 "classifier" inspect listops.safetensors
echo "[MED 2 8 3 ]" >expression.txt
expect 0 "" predict listops.safetensors expression.txt
expect 0 "model.safetensors: " import "$checkpoints/lm-tied-legacy/model.pt"
# Bytes, which the dictionary numbers in an order of its own, are text in and out.
echo "the city of cities" >text.txt
expect 0 "bits per" score model.safetensors text.txt
expect 0 "" generate model.safetensors --prompt "the c" --max-tokens 5 --seed 1
echo "( ( [MED 2 ) 8 3 ] )" >expression.txt
expect 0 "" predict listops.safetensors expression.txt
expect 0 '"architecture": "mega_wmt_en_de"' import "$checkpoints/translation/model.pt" --out t.safetensors --json

# Pictures: sizes follow from the tensors, and names of classes come from a file.
expect 0 "mega_base_patch16_224 (images)" import "$checkpoints/image/model.pt" --out pictures.safetensors
expect 0 "classes are called 0 to 6" import "$checkpoints/image/model.pt" --out pictures.safetensors
printf '%s\n' ant bee cat dog elk fox gnu >classes.txt
expect 0 "3 updates, epoch 4" import "$checkpoints/image/model.pt" --classes classes.txt --out pictures.safetensors
expect 0 "24" inspect pictures.safetensors
head -3 classes.txt >few.txt
expect 1 "has 3 lines, expected 7" import "$checkpoints/image/model.pt" --classes few.txt --out few.safetensors
expect 1 "names of classes are for classifiers" import "$checkpoints/lm-tied/model.pt" --classes few.txt

# Models of Hugging Face: the folder, or one of its files; tokens are numbers.
expect 0 "MegaForSequenceClassification" import "$checkpoints/hf-sequence-classification" --out hf.safetensors
echo "5 6 7" >numbers.txt
expect 0 "LABEL_" predict hf.safetensors numbers.txt
expect 0 "MegaForCausalLM" import "$checkpoints/hf-causal-lm/pytorch_model.bin" --out hf-lm.safetensors
expect 0 "perplexity" score hf-lm.safetensors numbers.txt
expect 0 "hf-lm-huggingface" export hf-lm.safetensors --to huggingface
expect 0 "MegaForCausalLM" import hf-lm-huggingface --out hf-again.safetensors
cmp -s hf-lm.safetensors hf-again.safetensors || failed "an exported model came back with other bits"
expect 0 "MegaForMaskedLM" import "$checkpoints/hf-masked-lm-chunked" --out masked.safetensors
expect 1 "not causal" score masked.safetensors numbers.txt
cp "$checkpoints/hf-causal-lm/pytorch_model.bin" alone.bin
expect 1 "config.json must lie beside it" import alone.bin

# Sound: statistics come from another model, or samples are standardised already.
expect 0 "taken as standardised already" import "$checkpoints/speech/model.pt" --out speech.safetensors
expect 1 "the mean of 0 positions, expected 48" import "$checkpoints/speech/model.pt" \
  --statistics speech.safetensors --out other.safetensors
expect 1 "statistics are for models of sound" import "$checkpoints/lra-image/model.pt" \
  --statistics speech.safetensors --out other.safetensors

# Archives.
expect 1 "--member" import "$checkpoints/lra-archive/mega.lra.zip"
expect 1 "mega.lra/listops/checkpoint_best.pt" import "$checkpoints/lra-archive/mega.lra.zip"
expect 0 "mega_lra_cifar10" import "$checkpoints/lra-archive/mega.lra.zip" --member image --out image.safetensors
expect 1 "no model" import "$checkpoints/lra-archive/mega.lra.zip" --member retrieval

# Dictionaries: those beside the checkpoint, others by name, none at all.
cp "$checkpoints/lra-text/model.pt" alone.pt
expect 0 "tokens are read and written as their numbers" import alone.pt
expect 0 "dict.label.txt" import alone.pt --dict "$checkpoints/lra-text/dict.label.txt" \
  --dict "$checkpoints/lra-text/dict.txt"
expect 1 "44 symbols, expected" import alone.pt --dict "$checkpoints/lm-tied/dict.txt"
expect 1 "BPE codes are for translators" import alone.pt --codes "$checkpoints/lm-tied/dict.txt"

# Tensors alone: a recipe says what they are.
cat >like.toml <<'TOML'
[model]
kind = "language"
vocabulary = 48
layers = 1
affine_final_norm = false
[model.block]
width = 8
values = 10
shared = 6
hidden = 12
position = "rotary"
chunk = 8
causal = true
norm = "layer"
prenorm = true
[model.block.ema]
dimension = 3
bidirectional = false
truncation = 8192
[input]
kind = "language"
units = "bytes"
TOML
expect 0 "" import "$checkpoints/resume-lm/model.pt" --out lm.safetensors
expect 0 "lm.weights.safetensors" export lm.safetensors --to safetensors
expect 1 "name a preset with --like" import lm.weights.safetensors --out like.safetensors
expect 0 "like.toml" import lm.weights.safetensors --like like.toml --dict "$checkpoints/resume-lm/dict.txt" \
  --out like.safetensors
cmp -s <("$mega" score lm.safetensors text.txt) <("$mega" score like.safetensors text.txt) ||
  failed "the same weights score differently"
expect 1 "expected [48, 512]" import lm.weights.safetensors --like enwik8 --out like.safetensors

# Out again: the released program's form, which comes back as the same file.
expect 0 "lm.pt" export lm.safetensors --to fairseq
expect 0 "mega_lm_enwik8_base" import lm.pt --dict "$checkpoints/resume-lm/dict.txt" --out again.safetensors
cmp -s lm.safetensors again.safetensors || failed "an exported model came back with other bits"
expect 1 "no models of kind image" export pictures.safetensors --to fairseq
[ ! -e pictures.pt ] || failed "a refused export was written"

# A training that goes on.
for i in $(seq 60); do echo "the city and the cities"; done >corpus.txt
expect 0 "run/model.safetensors" import "$checkpoints/resume-lm/model.pt" --training-state --out run
expect 1 "holds a run already" import "$checkpoints/resume-lm/model.pt" --training-state --out run
expect 0 "resumed after update 3" train --resume --out run --data corpus.txt --set train.updates=5 \
  --set train.evaluate=0 --set train.batch=2 --set train.batch_unit=examples
expect 1 "without --training-state" import "$checkpoints/lra-listops/model.pt" --training-state --out other
[ ! -e other ] || failed "a refused run was written"

# Nothing is written for a file that is refused.
expect 1 "names \"posix.system\"" import "$tests/hostile/code-reduce-posix-system.pt" --out refused.safetensors
expect 1 "\"encoder.encoder.layers.0.secret.weight\"" import "$tests/hostile/model-extra-tensor.pt" \
  --out refused.safetensors
[ ! -e refused.safetensors ] || failed "a refused file was written"

echo "$failures failures"
[ "$failures" = 0 ]
