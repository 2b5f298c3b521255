# Training with several processes: equal to one, what goes wrong with one of them, and resuming.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
. "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"

# As one process does it, and one voice.
expect 0 "test accuracy" "${train[@]}" --out "$work/one"
for n in 2 3; do
  output=$("$mega" launch -n "$n" -- "${train[@]}" --out "$work/n$n" 2>&1) || failed "launch -n $n: $output"
  grep -q "processes   $n, threads 1 each" <<<"$output" || failed "launch -n $n does not say so: $output"
  [ "$(grep -c 'test accuracy' <<<"$output")" = 1 ] || failed "launch -n $n: not one voice: $output"
  close "$(loss "$work/one")" "$(loss "$work/n$n")" || failed "$n processes: loss $(loss "$work/n$n"), not $(loss "$work/one")"
  for file in model.safetensors report.html metrics.jsonl recipe.json result.json; do
    [ -s "$work/n$n/$file" ] || failed "no $file with $n processes"
  done
  grep -q "rank $((n - 1)) (" "$work/n$n/report.html" || failed "the report does not name rank $((n - 1))"
done
expect 0 "accuracy" eval "$work/n2"

# Going on with another number of processes.
expect 0 "test accuracy" launch -n 2 -- "${train[@]}" --out "$work/change" --updates 10
expect 0 "resumed after update 10" launch -n 3 -- train --resume --out "$work/change" --updates 20 --threads 1
expect 0 "test accuracy" "${train[@]}" --out "$work/unchanged" --updates 10
expect 0 "resumed after update 10" train --resume --out "$work/unchanged" --updates 20 --threads 1
close "$(loss "$work/change")" "$(loss "$work/unchanged")" || failed "a run resumed with 3 processes differs"

# What does not fit is refused before anything is written.
expect 1 "only \`train\`" launch -n 2 -- eval "$work/one"
expect 2 "processes" launch -- "${train[@]}"
expect 1 "room for 1 processes" launch -n 2 --hosts <(echo localhost) -- "${train[@]}"
expect 1 "holds a run already" launch -n 2 -- "${train[@]}" --out "$work/one"
rank() { # rank N WORLD_SIZE PORT TOKEN: the environment of a process that is started by hand
  env RANK="$1" WORLD_SIZE="$2" MASTER_ADDR=127.0.0.1 MASTER_PORT="$3" MEGA_TOKEN="$4" MEGA_JOIN_SECONDS=20 "${@:5}"
}
port=$((20000 + RANDOM % 10000))
rank 0 2 $port t "$mega" "${train[@]}" --out "$work/differ" >"$work/rank0" 2>&1 &
first=$!
rank 1 2 $port t "$mega" "${train[@]}" --out "$work/differ" --batch 16 >"$work/rank1" 2>&1 && failed "another recipe was accepted"
wait $first && failed "another recipe was accepted by rank 0"
for n in 0 1; do
  grep -q "train.batch = 16, and train.batch = 15 with rank 0" "$work/rank$n" || failed "rank $n: $(cat "$work/rank$n")"
done
env RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$mega" "${train[@]}" 2>&1 | grep -q MEGA_TOKEN ||
  failed "no word of the missing token"

# fault NAME SECONDS TEXT COMMAND...: while a run of 3 goes on, COMMAND PID is done to its rank 2. The run ends
# within so many seconds with TEXT, and its checkpoint is whole.
fault() {
  local name=$1 most=$2 text=$3
  shift 3
  MEGA_SILENCE_SECONDS=3 "$mega" launch -n 3 -- "${train[@]}" --out "$work/$name" --updates 1000000 >"$work/output" 2>&1 &
  local launcher=$! pids start
  wait_for_checkpoint "$work/$name"
  mapfile -t pids < <(pgrep -P $launcher | sort -n)
  start=$(date +%s)
  "$@" "${pids[2]}"
  # Whoever is stopped does not end by itself: the launcher would kill it in a while.
  for _ in $(seq 600); do kill -0 "${pids[0]}" 2>/dev/null && sleep 0.1 || break; done
  local took=$(($(date +%s) - start))
  kill -9 "${pids[2]}" 2>/dev/null
  wait $launcher && failed "$name: the run did not fail"
  [ $took -le "$most" ] || failed "$name: it took $took s to stop"
  grep -qE "$text" "$work/output" || failed "$name: no \"$text\" in: $(cat "$work/output")"
  grep -q "The last checkpoint is intact" "$work/output" || failed "$name: no word of the checkpoint"
  echo "$name: stopped within $took s"
  local update
  update=$(basename "$(newest "$work/$name")")
  expect 0 "resumed after update" launch -n 2 -- train --resume --out "$work/$name" --updates "$((10#$update + 5))" --threads 1
}
fault killed 20 'rank 2 \(.*\) ended, or lost its connection' kill -9
fault stopped 30 'rank 2 \(.*\) has given no sign of life for 3.0? s' kill -STOP

# A process that ends is started again, with the others, from the checkpoint.
"$mega" launch -n 2 --restarts 1 -- "${train[@]}" --out "$work/again" --updates 400 >"$work/output" 2>&1 &
launcher=$!
wait_for_checkpoint "$work/again"
kill -9 "$(pgrep -P $launcher | sort -n | tail -n 1)"
wait $launcher || failed "the run was not started again: $(cat "$work/output")"
grep -q "starting again from its last checkpoint (1 of 1)" "$work/output" || failed "it does not say that it starts again"
grep -q "resumed after update" "$work/output" || failed "it began anew"

# A signal stops all, with a checkpoint.
"$mega" launch -n 2 -- "${train[@]}" --out "$work/signal" --updates 1000000 >"$work/output" 2>&1 &
launcher=$!
wait_for_checkpoint "$work/signal"
kill -TERM $launcher
wait $launcher
[ $? = 143 ] || failed "SIGTERM: $(cat "$work/output")"
grep -q "stopped; resume with" "$work/output" || failed "no word of resuming: $(cat "$work/output")"

echo "$failures failures"
[ "$failures" = 0 ]
