# Language models on the command line: train, eval, score and generate, with bytes and words, Mega and
# Transformer, and errors in texts and arguments.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive # small tensors: waiting threads must not spin
export MEGA_CACHE=$work/cache

for i in $(seq 150); do
  echo "the cat sat on the mat $((i % 7)) times"
  echo "der Bär über dem Fluß"
done >"$work/corpus.txt"
tiny=(--threads 1 --set model.layers=1 --set train.batch=512 --set train.warmup=5 --set train.evaluate=0)
mega_tiny=("${tiny[@]}" --set model.block.width=32 --set model.block.values=64 --set model.block.shared=16
  --set model.block.hidden=32 --set model.block.chunk=32 --set model.block.ema.dimension=4)
train() {
  local out=$1
  shift
  expect 0 "model.safetensors" train "$@" --data "$work/corpus.txt" --out "$work/$out"
}
train bytes bytes-small "${mega_tiny[@]}" --set train.updates=100
train words words-small "${mega_tiny[@]}" --set train.updates=30 --set model.cutoffs= --set model.embedding_width=0
train baseline bytes-small --set model.kind=transformer "${tiny[@]}" --set train.updates=30 --set model.width=32 \
  --set model.hidden=64 --set model.heads=2 --set model.window=64 --set model.stride=16

# eval
cp "$work/corpus.txt" "$work/other.txt"
for kind in bytes baseline; do
  expect 0 "bits per byte" eval "$work/$kind"
  expect 0 '"bits_per_byte"' eval "$work/$kind" --split valid --json
  expect 0 "bits per byte" eval "$work/$kind" --context 50
done
expect 0 "perplexity" eval "$work/words"
bytes=$(wc -c <"$work/other.txt")
expect 0 "$((bytes / 1000)),$(printf %03d $((bytes % 1000))) test tokens" eval "$work/bytes" --data "$work/other.txt"
expect 0 "500 test tokens" eval "$work/bytes" --data "$work/other.txt" --set data.evaluation_limit=500
expect 0 "bits per byte" eval "$work/bytes/model.safetensors" --chunk 8 --segments 3
expect 0 "sweep-chunk.svg" eval "$work/bytes" --sweep chunk=64,16 --sweep context=40,80,160
for chart in sweep-chunk.svg sweep-context.svg; do
  grep -q "<svg" "$work/bytes/$chart" || failed "no $chart"
done
expect 0 '"sweeps"' eval "$work/baseline" --sweep context=32,64 --out "$work/charts/new" --json
[ -s "$work/charts/new/sweep-context.svg" ] || failed "no chart in the folder given by --out"

# score
printf 'the cat sat on the mat 3 times\nder Bär\n' >"$work/two.txt"
gzip -k "$work/two.txt"
of_file=$("$mega" score "$work/bytes" "$work/two.txt" --json 2>/dev/null | grep log_prob)
of_gz=$("$mega" score "$work/bytes" "$work/two.txt.gz" --json 2>/dev/null | grep log_prob)
of_pipe=$("$mega" score "$work/bytes" --json <"$work/two.txt" 2>/dev/null | grep log_prob)
[ -n "$of_file" ] && [ "$of_file" = "$of_gz" ] && [ "$of_file" = "$of_pipe" ] ||
  failed "file, gz and pipe differ: $of_file, $of_gz, $of_pipe"
expect 0 "all" score "$work/bytes" "$work/two.txt" "$work/other.txt"
# Short texts are scored side by side: in their order, with the numbers of each alone.
side=$("$mega" score "$work/bytes" "$work/two.txt" "$work/other.txt" "$work/two.txt" --json 2>/dev/null | grep log_prob)
alone=$(for file in two other two; do "$mega" score "$work/bytes" "$work/$file.txt" --json 2>/dev/null | grep log_prob; done)
[ "$(head -n 3 <<<"$side")" = "$alone" ] || failed "texts side by side: $side, alone: $alone"
of_text=$("$mega" score "$work/bytes" --text "$(cat "$work/two.txt")" --json 2>/dev/null)
grep -q '"text": "--text:1"' <<<"$of_text" || failed "the name of a text: $of_text"
expect 0 "two.txt" score "$work/bytes" --text "one text" --text "another" "$work/two.txt"
expect 1 "empty text" score "$work/bytes" --text ""
expect 1 "for language models" score "$work/bytes" --text a --pairs "$work/two.txt"
expect 0 "perplexity" score "$work/words" "$work/two.txt"
for kind in bytes baseline words; do
  "$mega" score "$work/$kind" --tokens "$work/other.txt" >"$work/tokens.tsv" 2>/dev/null
  sum=$(awk -F '\t' '{ sum += $2 } END { printf "%.0f", sum }' "$work/tokens.tsv")
  whole=$("$mega" score "$work/$kind" --json "$work/other.txt" 2>/dev/null | sed -n 's/.*"log_probability": \(.*\),/\1/p')
  [ "$sum" = "$(printf '%.0f' "$whole")" ] || failed "$kind: the tokens sum to $sum, the text has $whole"
  bad=$(awk -F '\t' 'NF != 2 || $2 > 0' "$work/tokens.tsv" | head -n 3)
  [ -z "$bad" ] || failed "$kind: not a token and its log-probability: $bad"
done
[ "$(grep -c '^\\n' "$work/tokens.tsv")" = 300 ] || failed "wrong number of end-of-line tokens for words"
[ -z "$(ls "$MEGA_CACHE/tokens" | grep once)" ] || failed "a temporary token file was left"

# generate
for kind in bytes baseline words; do
  greedy=$("$mega" generate "$work/$kind" --prompt "the cat" --temperature 0 --max-tokens 40 2>"$work/speed")
  again=$("$mega" generate "$work/$kind" --prompt "the cat" --temperature 0 --max-tokens 40 --seed 5 2>/dev/null)
  [ "$greedy" = "$again" ] || failed "$kind: greedy decoding gave $greedy, then $again"
  grep -q "tokens/s" "$work/speed" || failed "no speed in $(cat "$work/speed")"
  # As JSON: a barely trained model may generate any byte, and shell variables cannot hold NUL.
  one=$("$mega" generate "$work/$kind" --seed 1 --json 2>/dev/null | grep '"text"')
  same=$("$mega" generate "$work/$kind" --seed 1 --json 2>/dev/null | grep '"text"')
  two=$("$mega" generate "$work/$kind" --seed 2 --json 2>/dev/null | grep '"text"')
  [ "$one" = "$same" ] && [ "$one" != "$two" ] || failed "$kind: seeds 1, 1 and 2 gave $one, $same and $two"
done
printf 'the cat\n' >"$work/prompt.txt"
expected=$("$mega" generate "$work/bytes" --prompt "the cat" --echo 2>/dev/null)
[ "${expected:0:7}" = "the cat" ] || failed "no prompt in $expected"
for from in "$work/prompt.txt" "-"; do
  text=$("$mega" generate "$work/bytes" "$from" --echo <"$work/prompt.txt" 2>/dev/null)
  [ "$text" = "$expected" ] || failed "a prompt from $from gives a different text: $text"
done
expect 0 '"stop_string"' generate "$work/bytes" --prompt "the cat sat" --temperature 0 --stop zzz --stop e --json
expect 0 '"max_tokens"' generate "$work/bytes" --max-tokens 3 --json
expect 0 "[5 tokens" generate "$work/bytes" --prompt "Bär über" --max-tokens 5
expect 0 "does not know 1 of the prompt's 2 tokens" generate "$work/words" --prompt "the xylophone" --max-tokens 1
"$mega" generate "$work/bytes" --prompt "der B" --temperature 0 --max-tokens 100 2>/dev/null | iconv -f UTF-8 -t UTF-8 >/dev/null ||
  failed "the generated text is not valid UTF-8"
lines=$(printf 'the cat\n\nder\n' | "$mega" generate "$work/bytes" --interactive --max-tokens 10 2>&1 >/dev/null | grep -c "tokens/s")
[ "$lines" = 3 ] || failed "$lines answers to 3 lines"
"$mega" generate "$work/bytes" --max-tokens 1000000000 >"$work/endless" 2>/dev/null &
for _ in $(seq 100); do
  if [ -s "$work/endless" ]; then break; fi
  sleep 0.1
done
kill -s INT $!
wait $!
status=$?
[ $status = 130 ] || failed "status $status after SIGINT"

# Unusual texts.
printf 'a\0b\0\n\377\376\n' >"$work/noise.bin"
expect 0 "perplexity" score "$work/bytes" "$work/noise.bin"
expect 0 "perplexity" score "$work/words" "$work/noise.bin"
"$mega" score "$work/bytes" --tokens "$work/noise.bin" 2>/dev/null | cut -f 1 >"$work/names"
[ "$(tr '\n' ' ' <"$work/names")" = 'a \u0000 b \u0000 \n \xFF \xFE \n ' ] || failed "tokens $(cat "$work/names")"
echo "xylophones everywhere" >"$work/unknown.txt"
expect 0 "66.67 % of the tokens are unknown" eval "$work/words" --data "$work/unknown.txt"
printf 'a' >"$work/short.txt"
expect 0 "bits per byte" eval "$work/bytes" --data "$work/short.txt" --context 1000
expect 1 "label_smoothing" train bytes-small "${mega_tiny[@]}" --set train.label_smoothing=0.1 --data "$work/two.txt" \
  --out "$work/smooth"
expect 0 "model.safetensors" train bytes-small "${mega_tiny[@]}" --set train.updates=5 --data "$work/two.txt" \
  --out "$work/short" --set data.valid_share=0 --set data.test_share=0
expect 1 "no test text" eval "$work/short"
expect 0 "bits per byte" eval "$work/short" --split train
expect 0 "longest line" data check bytes-small "$work/corpus.txt"
expect 0 '"token_types"' data check words-small "$work/corpus.txt" --json

# Errors.
: >"$work/empty.txt"
expect 1 "empty" train bytes-small --data "$work/empty.txt" --out "$work/x"
expect 1 "empty text" score "$work/bytes" "$work/empty.txt"
expect 1 "empty text" score "$work/bytes" </dev/null
expect 1 "empty" eval "$work/bytes" --data "$work/empty.txt"
expect 1 "nowhere" score "$work/bytes" "$work/nowhere"
expect 1 "a folder" score "$work/bytes" "$work"
expect 1 "nowhere" eval "$work/bytes" --data "$work/nowhere"
expect 1 "nowhere" generate "$work/nowhere"
expect 1 "nowhere" generate "$work/bytes" "$work/nowhere"
expect 1 "--sweep" eval "$work/bytes" --sweep chunk
expect 1 "--sweep" eval "$work/bytes" --sweep chunk=0
expect 1 "--sweep" eval "$work/bytes" --sweep speed=3
expect 1 "--segments" eval "$work/baseline" --segments 3
expect 1 "--predictions is for classifiers" eval "$work/bytes" --predictions "$work/predictions.csv"
expect 1 "chunks" eval "$work/baseline" --chunk 3
expect 1 "data options" eval "$work/bytes" --set model.layers=3
expect 1 "data.evaluation_limit" eval "$work/bytes" --examples 3
expect 2 "--top-p: expected a number, 0 to 1, got" generate "$work/bytes" --top-p 2
expect 2 "expected a number" generate "$work/bytes" --temperature nan
expect 1 "stop" generate "$work/bytes" --stop ""
expect 2 "excludes" generate "$work/bytes" --prompt a --prompt-file "$work/two.txt"
expect 1 '`generate`' predict "$work/bytes" --text a
for i in $(seq 20); do printf 'a\tgood %d\nb\tbad %d\n' "$i" "$i"; done >"$work/labelled.tsv"
expect 0 "" train text-small --data "$work/labelled.tsv" --out "$work/classifier" --threads 1 --set train.updates=1 \
  --set train.warmup=0 --set model.layers=1
expect 1 '`predict`' generate "$work/classifier"
expect 1 '`predict`' score "$work/classifier" "$work/two.txt"
expect 1 "language models" eval "$work/classifier" --chunk 3
[ ! -e "$work/x" ] || failed "a run that failed to start left a folder behind"

# --init keeps the vocabulary of the model
expect 0 "started from" train words-small "${mega_tiny[@]}" --set train.updates=6 --set model.cutoffs= \
  --data "$work/unknown.txt" --init "$work/words/model.safetensors" --out "$work/more"
expect 0 "100.00 % of the tokens are unknown" eval "$work/more" --split train
expect 1 "its tokens are not bytes" train bytes-small "${mega_tiny[@]}" --data "$work/corpus.txt" \
  --init "$work/words/model.safetensors" --out "$work/x"

echo "$failures failures"
[ "$failures" = 0 ]
