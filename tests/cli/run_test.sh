# mega-run: small, without libtorch, and with the same results as mega.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive # small tensors: waiting threads must not spin
export MEGA_CACHE=$work/cache
trained_by=$mega
run=$2
mega=$run # `expect` runs this from here on

# Few dependencies and a small binary (not with sanitizers, which add libraries).
libraries=$(ldd "$run")
if ! grep -q libasan <<<"$libraries"; then
  # libsndfile and libsamplerate, their codecs, and the C and C++ runtime
  known='linux-vdso|ld-linux|libc\.|libm\.|libstdc\+\+|libgcc_s|libsndfile|libsamplerate|libFLAC|libvorbis|libogg|libopus|libmpg123|libmp3lame'
  others=$(grep -vE "$known" <<<"$libraries")
  [ -z "$others" ] || failed "mega-run needs $others"
  strip -o "$work/stripped" "$run"
  size=$(stat -c %s "$work/stripped")
  [ "$size" -lt 10000000 ] || failed "mega-run has $size bytes, stripped"
fi
expect 0 "instruction set" --version
for command in generate score predict inspect; do expect 0 "$command" --help; done
expect 0 "generate"
expect 2 "unknown command" train # only in mega

# Tiny models.
for i in $(seq 150); do
  echo "the cat sat on the mat $((i % 7)) times"
  echo "der Bär über dem Fluß"
done >"$work/corpus.txt"
for i in $(seq 20); do printf 'a\tgood %d\nb\tbad %d\n' "$i" "$i"; done >"$work/labelled.tsv"
for i in $(seq 20); do printf '1\tgood %d\tgood\n0\tbad %d\tgood\n' "$i" "$i"; done >"$work/pairs.tsv"
for i in $(seq 20); do printf '%d\tgood %d\n%d\tbad %d\n' "$i" "$i" "-$i" "$i"; done >"$work/numbers.tsv"
tiny=(--threads 1 --set model.layers=2 --set model.block.width=32 --set model.block.values=64
  --set model.block.shared=16 --set model.block.hidden=32 --set model.block.chunk=32
  --set model.block.ema.dimension=4 --set train.warmup=5 --set train.evaluate=0)
train() {
  local out=$1 data=$2
  shift 2
  "$trained_by" train "$@" --data "$work/$data" --out "$work/$out" >"$work/train.log" 2>&1 ||
    failed "training $out: $(cat "$work/train.log")"
}
train bytes corpus.txt bytes-small "${tiny[@]}" --set train.batch=512 --set train.updates=60
train words corpus.txt words-small "${tiny[@]}" --set train.batch=512 --set train.updates=20 --set model.cutoffs= \
  --set model.embedding_width=0
train classes labelled.tsv text-small "${tiny[@]}" --set train.updates=30 # of pieces
train of_bytes labelled.tsv text-small "${tiny[@]}" --set train.updates=30 --set input.units=bytes
train of_words labelled.tsv text-small "${tiny[@]}" --set train.updates=30 --set input.units=words
train pairs pairs.tsv pairs-small "${tiny[@]}" --set train.updates=5
train pairs_of_pieces pairs.tsv pairs-small "${tiny[@]}" --set train.updates=5 --set input.units=sentencepiece
train numbers numbers.tsv text-small "${tiny[@]}" --set train.updates=30 --set model.objective=regression \
  --set model.classes=1
train baseline corpus.txt bytes-small --threads 1 --set model.kind=transformer --set model.layers=1 --set train.batch=512 \
  --set train.updates=3 --set train.warmup=1 --set train.evaluate=0 --set model.width=32 --set model.hidden=64 \
  --set model.heads=2 --set model.window=64 --set model.stride=16
train baseline_classes labelled.tsv text-small --threads 1 --set model.kind=transformer --set model.layers=1 \
  --set train.updates=1 --set train.warmup=0

number() { sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" | head -n 1; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && (a - b) ^ 2 < (1e-4 * (1 + (b < 0 ? -b : b))) ^ 2) }'; }

# score: equal to eval by libtorch with one segment (on a copy, because eval uses only the test split of training data)
cp "$work/corpus.txt" "$work/other.txt"
for kind in bytes words; do
  "$trained_by" eval "$work/$kind" --data "$work/other.txt" --segments 1 --json 2>/dev/null >"$work/eval.json"
  "$run" score "$work/$kind" "$work/corpus.txt" --json 2>/dev/null >"$work/score.json"
  for figure in bits_per_byte perplexity; do
    expected=$(number "$figure" <"$work/eval.json")
    actual=$(number "$figure" <"$work/score.json")
    if [ -n "$expected" ]; then near "$actual" "$expected" || failed "$kind: $figure $actual instead of $expected"; fi
  done
  expect 0 "perplexity" score "$work/$kind" "$work/corpus.txt"
done
"$run" score "$work/bytes" "$work/corpus.txt" --tokens >"$work/tokens.tsv" 2>/dev/null
[ "$(wc -l <"$work/tokens.tsv")" = "$(wc -c <"$work/corpus.txt")" ] || failed "expected one token per byte"

# generate: same output as mega
for kind in bytes words; do
  ours=$("$run" generate "$work/$kind" --prompt "the cat" --temperature 0 --max-tokens 40 2>/dev/null)
  theirs=$("$trained_by" generate "$work/$kind" --prompt "the cat" --temperature 0 --max-tokens 40 2>/dev/null)
  [ -n "$ours" ] && [ "$ours" = "$theirs" ] || failed "$kind: mega-run generates $ours, mega $theirs"
done
expect 0 '"max_tokens"' generate "$work/bytes" --max-tokens 3 --json --cache bf16 --threads 1

# Many prompts: the same output for any batch size, and as for each prompt alone.
printf 'the cat\n\nder B\nthe\ndem Fluß\n' >"$work/prompts.txt"
field() { sed -n "s/.*\"$1\": *\(\"\([^\"\\\\]\|\\\\.\)*\"\).*/\1/p; s/.*\"$1\":\(\"\([^\"\\\\]\|\\\\.\)*\"\).*/\1/p"; }
"$run" generate "$work/bytes" --prompts "$work/prompts.txt" --json --max-tokens 30 --seed 4 --batch 1 2>/dev/null |
  field text >"$work/batch1"
"$run" generate "$work/bytes" --prompts - --json --max-tokens 30 --seed 4 --batch 3 2>/dev/null <"$work/prompts.txt" |
  field text >"$work/batch3"
[ "$(wc -l <"$work/batch1")" = 5 ] && cmp -s "$work/batch1" "$work/batch3" || failed "the output depends on the batch size"
seed=4
while IFS= read -r prompt; do
  "$run" generate "$work/bytes" --prompt "$prompt" --json --max-tokens 30 --seed $seed 2>/dev/null | field text
  seed=$((seed + 1))
done <"$work/prompts.txt" >"$work/alone"
cmp -s "$work/batch1" "$work/alone" || failed "prompts together: $(cat "$work/batch1"), alone: $(cat "$work/alone")"
expect 0 "==> der B <==" generate "$work/bytes" --prompts "$work/prompts.txt" --max-tokens 3
expect 0 "[5 prompts, 15 tokens" generate "$work/bytes" --prompts "$work/prompts.txt" --max-tokens 3
expect 0 "does not know 1 of the prompt's 2 tokens" generate "$work/words" --prompts <(echo "the xylophone") --max-tokens 1
expect 0 "[0 prompts" generate "$work/bytes" --prompts /dev/null
expect 1 "nowhere" generate "$work/bytes" --prompts "$work/nowhere"
expect 2 "--batch" generate "$work/bytes" --prompts "$work/prompts.txt" --batch 0
expect 2 "excludes" generate "$work/bytes" --prompts "$work/prompts.txt" --prompt a

# Resuming from a saved state gives the same text as an uninterrupted run.
state=$work/state
greedy=(--temperature 0 --json)
whole=$("$run" generate "$work/bytes" --prompt "the cat" --max-tokens 50 "${greedy[@]}" 2>/dev/null | field text)
first=$("$run" generate "$work/bytes" --prompt "the cat" --max-tokens 20 "${greedy[@]}" --save-state "$state" 2>/dev/null | field text)
second=$("$run" generate "$work/bytes" --max-tokens 30 "${greedy[@]}" --load-state "$state" 2>/dev/null | field text)
[ -n "$second" ] && [ "${first%\"}${second#\"}" = "$whole" ] || failed "$first and $second instead of $whole"
forked=$(printf '\n\n' | "$run" generate "$work/bytes" --prompts - --max-tokens 30 "${greedy[@]}" --load-state "$state" 2>/dev/null | field text)
[ "$forked" = "$second"$'\n'"$second" ] || failed "two prompts from the state give $forked instead of $second"
expect 1 "state" generate "$work/words" --load-state "$state"
head -c 100 "$state" >"$work/torn"
expect 1 "torn" generate "$work/bytes" --load-state "$work/torn"
expect 1 "nowhere" generate "$work/bytes" --load-state "$work/nowhere"
expect 2 "excludes" generate "$work/bytes" --prompts "$work/prompts.txt" --save-state "$state"

# Ctrl-C stops all texts and prints what was generated so far.
yes "the cat" | head -n 100 | "$run" generate "$work/bytes" --prompts - --max-tokens 1000000000 >"$work/endless" 2>"$work/speed" &
endless=$!
sleep 1
kill -s INT $endless 2>/dev/null
wait $endless
status=$?
[ $status = 130 ] && [ "$(grep -c '==> the cat <==' "$work/endless")" = 8 ] ||
  failed "status $status after SIGINT, $(grep -c '==>' "$work/endless") answers"
# Also while it waits for prompts.
mkfifo "$work/pipe"
"$run" generate "$work/bytes" --prompts - <"$work/pipe" >/dev/null 2>&1 &
waiting=$!
exec 9>"$work/pipe"
for _ in $(seq 100); do
  grep -qs "^SigCgt:.*[2367abef]$" /proc/$waiting/status && break || sleep 0.1
done
kill -s INT $waiting
wait $waiting
status=$?
[ $status = 130 ] || failed "status $status after SIGINT while it waits for prompts"
exec 9>&-

# predict: same output as mega, and the accuracy that eval by libtorch reports
printf 'good 3\nbad 7\ngood 8\n' >"$work/texts.txt"
for kind in classes of_bytes of_words numbers; do
  ours=$("$run" predict "$work/$kind" --lines "$work/texts.txt" --json 2>&1)
  theirs=$("$trained_by" predict "$work/$kind" --lines "$work/texts.txt" --json 2>&1)
  [ "$(wc -l <<<"$ours")" = 3 ] && [ "$ours" = "$theirs" ] || failed "$kind: mega-run predicts $ours, mega $theirs"
done
for kind in pairs pairs_of_pieces; do
  expect 0 '"probability"' predict "$work/$kind" --json --text $'good 1\tgood'
done
cut -f 2 "$work/labelled.tsv" >"$work/all.txt"
cp "$work/labelled.tsv" "$work/copy.tsv"
for kind in classes of_bytes of_words; do
  right=$(paste <(cut -f 1 "$work/labelled.tsv") <("$run" predict "$work/$kind" --lines "$work/all.txt" --top 1 2>/dev/null | cut -f 2) |
    awk '$1 == $2 { right++ } END { printf "%.4f", right / NR }')
  expected=$("$trained_by" eval "$work/$kind" --data "$work/copy.tsv" --json 2>/dev/null | number accuracy)
  near "$right" "$expected" || failed "$kind: $right of the classes are right instead of $expected"
done
expect 1 "two texts separated by a tab" predict "$work/pairs" --text good

# inspect
expect 0 "half-lives" inspect "$work/bytes"
expect 0 "block.width" inspect "$work/classes/model.safetensors"
for kind in bytes words classes pairs baseline; do
  ours=$("$run" inspect "$work/$kind" --json | number parameters)
  theirs=$("$trained_by" inspect "$work/$kind" --set train.seed=2 --json | number parameters) # built, not read
  [ -n "$ours" ] && [ "$ours" = "$theirs" ] || failed "$kind: $ours parameters in the file, $theirs in the model"
done
expect 0 '"half_lives"' inspect "$work/bytes" --json
expect 0 '"p90"' inspect "$work/bytes" --json

# Models that only mega can run, and errors.
expect 1 "program \`mega\`" generate "$work/baseline"
expect 1 "program \`mega\`" score "$work/baseline" "$work/corpus.txt"
expect 1 "program \`mega\`" predict "$work/baseline_classes" --text a
mega=$trained_by
expect 0 "==> the cat <==" generate "$work/baseline" --prompts "$work/prompts.txt" --max-tokens 3
expect 1 "Mega models" generate "$work/baseline" --save-state "$work/x"
expect 1 "Mega models" generate "$work/baseline" --cache bf16
mega=$run
expect 1 "\`predict\`" generate "$work/classes"
expect 1 "\`predict\`" score "$work/classes" "$work/corpus.txt"
expect 1 "\`generate\`" predict "$work/bytes" --text a
expect 1 "nowhere" inspect "$work/nowhere"
head -c 1000 "$work/bytes/model.safetensors" >"$work/cut.safetensors"
for command in generate score predict inspect; do expect 1 "cut.safetensors" $command "$work/cut.safetensors"; done

echo "$failures failures"
[ "$failures" = 0 ]
