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
echo "123 123 99 105 116 101" >text.txt
expect 0 "perplexity" score model.safetensors text.txt
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

# Archives.
expect 1 "several models" import "$checkpoints/lra-archive/mega.lra.zip"
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

# Nothing is written for a file that is refused.
expect 1 "names \"posix.system\"" import "$tests/hostile/code-reduce-posix-system.pt" --out refused.safetensors
expect 1 "\"encoder.encoder.layers.0.secret.weight\"" import "$tests/hostile/model-extra-tensor.pt" \
  --out refused.safetensors
[ ! -e refused.safetensors ] || failed "a refused file was written"

echo "$failures failures"
[ "$failures" = 0 ]
