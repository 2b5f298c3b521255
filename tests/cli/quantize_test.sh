# mega quantize: files of lower precision that all commands read, and the measured loss of quality.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive # small tensors: waiting threads must not spin
export MEGA_CACHE=$work/cache
run=$2

for i in $(seq 150); do echo "the cat sat on the mat $((i % 7)) times"; done >"$work/corpus.txt"
for i in $(seq 40); do printf 'a\tgood %d\nb\tbad %d\n' "$i" "$i"; done >"$work/labelled.tsv"
for i in $(seq 40); do printf '%d\tgood %d\n%d\tbad %d\n' "$i" "$i" "-$i" "$i"; done >"$work/numbers.tsv"
tiny=(--threads 1 --set model.layers=1 --set model.block.width=32 --set model.block.values=64
  --set model.block.shared=16 --set model.block.hidden=32 --set model.block.chunk=32
  --set model.block.ema.dimension=4 --set train.warmup=5 --set train.evaluate=0)
train() {
  local out=$1 data=$2
  shift 2
  expect 0 "model.safetensors" train "$@" --data "$work/$data" --out "$work/$out"
}
train bytes corpus.txt bytes-small "${tiny[@]}" --set train.batch=512 --set train.updates=40
train classes labelled.tsv text-small "${tiny[@]}" --set train.updates=30
train numbers numbers.tsv text-small "${tiny[@]}" --set train.updates=10 --set model.objective=regression \
  --set model.classes=1
train baseline labelled.tsv text-small --threads 1 --set model.kind=transformer --set model.layers=1 \
  --set train.updates=1 --set train.warmup=0

# Metrics of each kind of model on its training data.
expect 0 "bits per character" quantize "$work/bytes" --type int8
expect 0 "same most likely token in" quantize "$work/bytes" --type bf16 --limit 100
expect 0 "accuracy" quantize "$work/classes" --type int8
expect 0 "same most likely class in" quantize "$work/classes/model.safetensors" --type bf16
expect 0 "rmse" quantize "$work/numbers" --type int8
full=$(stat -c %s "$work/bytes/model.safetensors")
for type in int8 bf16; do
  size=$(stat -c %s "$work/bytes/model-$type.safetensors")
  [ "$size" -lt $((full * 7 / 10)) ] || failed "$type: $size bytes, full size $full"
done

# On data given by the user.
cp "$work/corpus.txt" "$work/other.txt"
expect 0 "tokens of" quantize "$work/bytes" --type int8 --text "$work/other.txt" --text "$work/corpus.txt" --limit 50
expect 0 '"kl_divergence"' quantize "$work/bytes" --type int8 --data "$work/other.txt" --json
expect 0 "80 test examples" quantize "$work/classes" --type int8 --data <(cat "$work/labelled.tsv") --out "$work/o"
cp "$work/labelled.tsv" "$work/more.tsv"
expect 0 "5 test examples" quantize "$work/classes" --type int8 --data "$work/more.tsv" --limit 5

# The other commands read quantised files; libtorch reads them as dequantised floats.
bits() { "$mega" eval "$1" --json 2>/dev/null | sed -n 's/.*"bits_per_byte": \([0-9.]*\),/\1/p'; }
before=$(bits "$work/bytes")
for type in int8 bf16; do
  after=$(bits "$work/bytes/model-$type.safetensors")
  awk -v a="$before" -v b="$after" 'BEGIN { exit !(a != "" && b != "" && (a - b) ^ 2 < 0.03 ^ 2) }' ||
    failed "eval of $type: $after bits per byte, $before before"
  expect 0 "bits per byte" score "$work/bytes/model-$type.safetensors" "$work/other.txt"
  expect 0 "" generate "$work/bytes/model-$type.safetensors" --prompt "the" --max-tokens 5
  expect 0 "accuracy" eval "$work/classes/model-$type.safetensors"
  expect 0 "%" predict "$work/classes/model-$type.safetensors" --text "good"
  "$run" predict "$work/classes/model-$type.safetensors" --text "good" | grep -q "%" || failed "mega-run, $type"
done

# Without data.
mv "$work/corpus.txt" "$work/gone.txt"
expect 0 "name a text with --text FILE" quantize "$work/bytes" --type int8
mv "$work/labelled.tsv" "$work/gone.tsv"
expect 0 "name labelled examples with --data PATH" quantize "$work/classes" --type int8

# Errors.
expect 1 "already" quantize "$work/bytes/model-int8.safetensors" --type bf16
expect 1 "another name" quantize "$work/bytes" --type int8 --out "$work/bytes/model.safetensors"
expect 1 "only Mega models" quantize "$work/baseline" --type int8
expect 1 "--text is for language models" quantize "$work/classes" --type int8 --text "$work/other.txt" --out "$work/no"
expect 1 "not a safetensors file" quantize "$work/other.txt" --type int8
expect 1 "none.txt" quantize "$work/bytes" --type int8 --text "$work/none.txt"
expect 2 "int4" quantize "$work/bytes" --type int4
expect 2 "--type" quantize "$work/bytes"
[ -e "$work/no" ] && failed "a file was written despite an error"

echo "$failures failures"
[ "$failures" = 0 ]
