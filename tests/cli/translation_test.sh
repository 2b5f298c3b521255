# Translators on the command line: train, eval, inspect and average, Mega and Transformer, and recipes that cannot be.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive # small tensors: waiting threads must not spin
export MEGA_CACHE=$work/cache

# pairs COUNT NAME: so many lines of two languages whose words stand for each other.
pairs() {
  awk -v n="$1" -v name="$work/pairs/$2" 'BEGIN {
    split("one two three four five six seven", en)
    split("eins zwei drei vier fünf sechs sieben", de)
    for (i = 0; i < n; i++) {
      a = 1 + i % 7; b = 1 + int(i / 7) % 7; c = 1 + (i * 5 + 3) % 7
      print en[a], en[b], en[c] >(name ".en")
      print de[a], de[b], de[c] >(name ".de")
    }
  }'
}
mkdir "$work/pairs"
pairs 300 train
pairs 20 val
pairs 20 test_2016
pairs 30 test_2017
tiny=(--threads 1 --set model.encoder_layers=1 --set model.decoder_layers=1 --set input.vocabulary=300 --set train.batch=512
  --set train.warmup=5 --set train.evaluate=20u --set train.checkpoint=10u)
mega_tiny=("${tiny[@]}" --set model.block.width=32 --set model.block.values=64 --set model.block.shared=16
  --set model.block.hidden=32 --set model.block.ema.dimension=4)
train() {
  local text=$1 out=$2
  shift 2
  expect 0 "$text" train translate-small --data "$work/pairs" --out "$work/$out" "$@"
}
train "test BLEU test_2016" mega "${mega_tiny[@]}" --updates 40
train "test BLEU test_2017" transformer --set model.kind=transformer "${tiny[@]}" --updates 20 --set model.width=32 \
  --set model.hidden=64 --set model.heads=2
train "test BLEU test_2016" back "${mega_tiny[@]}" --updates 10 --set input.source_language=de \
  --set input.target_language=en --set train.translation.select=bleu --set train.translation.beam=1
for key in '"bleu_test_2016"' '"loss_test_2017"' '"perplexity"'; do
  grep -q "$key" "$work/mega/result.json" || failed "no $key in result.json"
done
grep -q "→" "$work/mega/report.html" || failed "no translations in the report"
expect 0 "en to de: 300 train, 20 valid, 20 test_2016, 30 test_2017 pairs" train translate-small --data "$work/pairs" \
  --out "$work/none" "${mega_tiny[@]}" --estimate
expect 0 "resumed after update 40" train --resume --out "$work/mega" --updates 42

# eval
for kind in mega transformer; do
  expect 0 "test_2017: BLEU" eval "$work/$kind"
  expect 0 '"bleu"' eval "$work/$kind" --split valid --json
done
expect 0 "7 pairs" eval "$work/mega" --examples 7
cp "$work/pairs/val.en" "$work/other.en"
cp "$work/pairs/val.de" "$work/other.de"
expect 0 "20 pairs" eval "$work/mega" --data "$work/other.en"
expect 1 "--split train" eval "$work/mega" --split train
expect 1 "no language model" eval "$work/mega" --chunk 8
expect 1 "--predictions is for classifiers" eval "$work/mega" --predictions "$work/p.csv"
expect 1 "data options only" eval "$work/mega" --set model.block.width=8
expect 0 "translator" inspect "$work/mega"

# average
expect 0 "the mean of 2 models" average "$work/mega" --last 2
expect 0 "test_2016: BLEU" eval "$work/mega/model-average.safetensors"
expect 0 "the mean of 2 models" average "$work/mega" "$work/mega/model-average.safetensors" --out "$work/both.safetensors"
expect 1 "checkpoints, not 50" average "$work/mega" --last 50
expect 1 "its own average" average "$work/mega/model.safetensors"
expect 1 "has other model options" average "$work/mega" "$work/transformer" --out "$work/both.safetensors"
expect 1 "--last is for" average "$work/mega" "$work/mega" --last 1
expect 2 "models is required" average

# What cannot be.
cannot() {
  local text=$1
  shift
  expect 1 "$text" train translate-small --data "$work/pairs" --out "$work/none" "${mega_tiny[@]}" "$@"
}
cannot "share_embeddings" --set input.joint=false
cannot "translation.sentences" --set train.translation.select=bleu --set train.translation.sentences=0
cannot "positions for 4: set input.max_length=4" --set model.block.max_positions=4
expect 1 "language models have none" train bytes-small --data "$work/pairs/train.en" --out "$work/none" \
  --set train.label_smoothing=0.1

echo "$failures failures"
[ "$failures" = 0 ]
