# predict --stream: bytes of text, audio with and without a WAV header, and Ctrl-C.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive # small tensors: waiting threads must not spin
run=$2

for i in $(seq 20); do printf 'a\tgood %d\nb\tbad %d\n' "$i" "$i"; done >"$work/labelled.tsv"
tiny=(--threads 1 --set model.layers=1 --set model.block.width=16 --set model.block.values=16
  --set model.block.shared=16 --set model.block.hidden=16 --set model.block.chunk=32
  --set model.block.ema.dimension=2 --set train.warmup=1 --set train.evaluate=0 --set train.updates=3)
bytes=(--set input.units=bytes --set input.max_length=2000 --set model.vocabulary=264)
causal=(--set model.block.causal=true --set model.block.ema.bidirectional=false)
expect 0 "model" train text-small "${tiny[@]}" "${bytes[@]}" "${causal[@]}" --data "$work/labelled.tsv" --out "$work/text"
expect 0 "model" train text-small "${tiny[@]}" "${bytes[@]}" --data "$work/labelled.tsv" --out "$work/both-ways"
expect 0 "model" train text-small "${tiny[@]}" "${causal[@]}" --data "$work/labelled.tsv" --out "$work/pieces"

# number BYTES VALUE: little-endian. samples FACTOR: one second of audio at 1,000 samples a second.
# head_of RATE [CHANNELS]: a WAV header for it.
number() { for ((i = 0; i < $1; ++i)); do printf '%b' "\\x$(printf %02x $(($2 >> (8 * i) & 255)))"; done; }
samples() { for i in $(seq 1000); do number 2 $(((i * $1 % 200 - 100) * 100)); done; }
head_of() {
  printf RIFF
  number 4 2036
  printf 'WAVEfmt '
  local frame=$((2 * ${2:-1}))
  number 4 16 && number 2 1 && number 2 "${2:-1}" && number 4 "$1" && number 4 $(($1 * frame)) && number 2 $frame
  number 2 16
  printf data
  number 4 2000
}
for class in 3 17; do
  mkdir -p "$work/sounds/$class"
  samples $class >"$work/$class.raw"
  for i in $(seq 6); do { head_of 1000 && cat "$work/$class.raw"; } >"$work/sounds/$class/$i.wav"; done
done
expect 0 "model" train audio-stream "${tiny[@]}" --set input.rate=1000 --set input.length=1000 \
  --data "$work/sounds" --out "$work/sound"
expect 0 "model" train audio-stream "${tiny[@]}" --set input.rate=1000 --set input.length=1000 \
  --set input.standardize=position --data "$work/sounds" --out "$work/placed"

mega=$run # `expect` runs this from here on
stream() { "$run" predict "$@" --stream 2>/dev/null; }
same() { [ "$1" = "$2" ] || failed "$3: expected \"$1\", got \"$2\""; }

printf 'good %.0s' $(seq 40) >"$work/long.txt" # 200 bytes
same 4 "$(stream "$work/text" "$work/long.txt" --every 50 | wc -l)" "number of decisions"
same 7 "$(stream "$work/text" --every 30 --window 60 <"$work/long.txt" | wc -l)" "decisions including the last, partial one"
same '{"position":50' "$(stream "$work/text" --every 50 --json <"$work/long.txt" | head -n 1 | cut -d , -f 1)" "JSON"
same "" "$(stream "$work/text" </dev/null)" "empty input"

# The same result for a WAV stream, raw samples, input in pieces, and predict without --stream.
whole=$("$run" predict "$work/sound" "$work/sounds/3/1.wav" | cut -f 2-)
[ -n "$whole" ] || failed "no answer"
for input in "$work/sounds/3/1.wav" "$work/3.raw"; do
  same "$whole" "$(stream "$work/sound" "$input" --every 1000 --window 0 | cut -f 2-)" "$input"
done
pieces=$({ head -c 333 "$work/3.raw" && sleep 0.2 && tail -c +334 "$work/3.raw"; } |
  stream "$work/sound" --every 1000 --window 0)
same "1.000 s	$whole" "$pieces" "pieces"
same 4 "$(stream "$work/sound" "$work/3.raw" | wc -l)" "four a second"

# Other rates and channels: as predict without --stream reads the same file, up to what the resampler's filter sees of
# the silence behind its end; raw samples by --rate and --channels. The same however the stream is cut.
{ head_of 500 && cat "$work/3.raw"; } >"$work/slow.wav" # 2 s: 2,000 samples of the model
{ head_of 1000 2 && cat "$work/3.raw"; } >"$work/stereo.wav"
decided() { cut -f 2 <<<"$1" | cut -d ' ' -f 1 | tail -n 1; }
for input in slow stereo; do
  streamed=$(stream "$work/sound" "$work/$input.wav" --every 100 --window 0)
  [ -n "$streamed" ] || failed "no decisions about $input.wav"
  case $input in
    slow) options=(--rate 500) lines=20 ;;
    stereo) options=(--channels 2) lines=5 ;;
  esac
  same "$lines" "$(wc -l <<<"$streamed")" "decisions about $input.wav"
  same "$streamed" "$(stream "$work/sound" "$work/3.raw" "${options[@]}" --every 100 --window 0)" "$input, raw"
  for cut in 1 45 777; do
    cut_up=$({ head -c $cut "$work/$input.wav" && sleep 0.1 && tail -c +$((cut + 1)) "$work/$input.wav"; } |
      stream "$work/sound" --every 100 --window 0)
    same "$streamed" "$cut_up" "$input.wav, cut after $cut bytes"
  done
done
same "$(decided "$("$run" predict "$work/sound" "$work/stereo.wav")")" \
  "$(decided "$(stream "$work/sound" "$work/stereo.wav" --every 500 --window 0)")" "the class of stereo.wav"

# --changes: the first decision, and those of another class than the one before.
cat "$work/3.raw" "$work/17.raw" "$work/3.raw" "$work/17.raw" >"$work/both.raw"
stream "$work/sound" "$work/both.raw" --every 50 --window 50 --top 1 >"$work/all"
stream "$work/sound" "$work/both.raw" --every 50 --window 50 --top 1 --changes >"$work/changed"
awk '{ class = $3 } class != last { print } { last = class }' "$work/all" | cmp -s - "$work/changed" ||
  failed "--changes: $(cat "$work/changed") of $(cat "$work/all")"

# Ctrl-C while waiting for input.
mkfifo "$work/pipe"
"$run" predict "$work/sound" --stream "$work/pipe" >"$work/heard" 2>/dev/null &
listener=$!
exec 9>"$work/pipe"
cat "$work/3.raw" >&9
for _ in $(seq 100); do
  [ "$(wc -l <"$work/heard")" -ge 4 ] && break
  sleep 0.1
done
kill -INT $listener
wait $listener || failed "Ctrl-C: status $?"
exec 9>&-
same 4 "$(wc -l <"$work/heard")" "decisions before Ctrl-C"

# Errors.
{ head_of 999999999 && cat "$work/3.raw"; } >"$work/fast.wav"
expect 1 "cannot be resampled to 1000" predict "$work/sound" --stream "$work/fast.wav"
expect 1 "cannot be resampled to 1000" predict "$work/sound" --stream "$work/3.raw" --rate 1
expect 1 "--rate and --channels are for audio" predict "$work/text" --stream "$work/long.txt" --rate 8000
expect 2 "--stream" predict "$work/sound" "$work/3.raw" --changes
expect 2 "--channels" predict "$work/sound" --stream "$work/3.raw" --channels 0
expect 1 "input.standardize=channel" predict "$work/placed" --stream "$work/3.raw"
expect 1 "causal = true" predict "$work/both-ways" --stream "$work/long.txt"
expect 1 "presets whose models can stream: audio-stream" predict "$work/both-ways" --stream "$work/long.txt"
expect 1 "reads sentencepiece: train it with --set input.units=bytes" predict "$work/pieces" --stream "$work/long.txt"
expect 1 "none.raw" predict "$work/sound" --stream "$work/none.raw"
expect 1 "one file" predict "$work/text" --stream "$work/long.txt" "$work/long.txt"
expect 1 "one file" predict "$work/text" --stream --text good
expect 2 "--stream" predict "$work/text" --every 5
expect 2 "--every" predict "$work/text" --stream --every 0

echo "$failures failures"
[ "$failures" = 0 ]
