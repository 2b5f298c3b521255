# Training with several processes: equal to one, with one voice; resumed by other numbers; stopped and started again.
# What goes wrong with a process is in long_faults_test.sh.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
. "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"

# As one process does it, and one voice.
expect 0 "test accuracy" "${train[@]}" --out "$work/one"
output=$("$mega" launch -n 2 -- "${train[@]}" --out "$work/two" 2>&1) || failed "launch -n 2: $output"
grep -q "processes   2, threads 1 each" <<<"$output" || failed "launch -n 2 does not say so: $output"
[ "$(grep -c 'test accuracy' <<<"$output")" = 1 ] || failed "launch -n 2: not one voice: $output"
close "$(loss "$work/one")" "$(loss "$work/two")" || failed "2 processes: loss $(loss "$work/two"), not $(loss "$work/one")"
for file in model.safetensors report.html metrics.jsonl recipe.json result.json; do
  [ -s "$work/two/$file" ] || failed "no $file with 2 processes"
done
grep -q "rank 1 (" "$work/two/report.html" || failed "the report does not name rank 1"

# Each process has a piece of every sequence; that of two documents is refused.
short=("${train[@]}" --set model.block.chunk=8) # several chunks in a sequence
expect 0 "test accuracy" "${short[@]}" --out "$work/whole"
"$mega" launch -n 2 -- "${short[@]}" --out "$work/pieces" --set train.processes.share=sequences >"$work/output" 2>&1 ||
  failed "pieces: $(cat "$work/output")"
close "$(loss "$work/whole")" "$(loss "$work/pieces")" || failed "pieces: loss $(loss "$work/pieces"), not $(loss "$work/whole")"
expect 1 "only a Mega language model or classifier reads sequences in pieces" "${train[@]}" --out "$work/matcher" \
  --set model.kind=matcher --set train.processes.share=sequences

# Going on with another number of processes, on machines that are reached by ssh: here by one that stays at home, in
# another folder, with nothing of this environment. Signals end it alone. The token is not among its arguments.
mkdir "$work/bin"
cat >"$work/bin/ssh" <<'SH'
[ "$1 $2" = "-o BatchMode=yes" ] || exit 255
echo "$3: $4" >>"$(dirname "$0")/calls"
cd / && exec 3<&0
trap 'exit 255' INT TERM HUP
setsid env -i PATH="$PATH" HOME="$HOME" sh -c "$4" <&3 &
wait $!
SH
chmod +x "$work/bin/ssh"
printf 'near slots=2 # and a comment\n\nfar\n' >"$work/hosts"
cd "$work" || exit 1
PATH=$work/bin:$PATH MEGA_TOKEN=hidden expect 0 "resumed after update 20" launch -n 3 --hosts hosts --master 127.0.0.1 \
  --port $((20000 + RANDOM % 10000)) -- train --resume --out two --updates 30 --threads 1 \
  --set train.processes.share_optimizer=true
[ "$(cut -d : -f 1 bin/calls | sort | xargs)" = "far near near" ] || failed "ssh: $(cat bin/calls)"
grep -q "MEGA_TOKEN" bin/calls || failed "no token is read: $(cat bin/calls)"
grep -q "hidden" bin/calls && failed "the token is among the arguments: $(cat bin/calls)"
expect 0 "resumed after update 20" train --resume --out "$work/one" --updates 30 --threads 1
close "$(loss "$work/one")" "$(loss "$work/two")" || failed "a run resumed with 3 processes differs"

# What does not fit is refused before anything is written.
expect 1 "only \`train\`" launch -n 2 -- eval "$work/one"
expect 2 "--processes is required" launch -- "${train[@]}"
expect 1 "room for 1 processes" launch -n 2 --hosts <(echo localhost) -- "${train[@]}"
expect 1 "holds a run already" launch -n 2 -- "${train[@]}" --out "$work/one"
output=$(env RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "$mega" "${train[@]}" 2>&1) && failed "no token is needed"
grep -q MEGA_TOKEN <<<"$output" || failed "no word of the missing token: $output"

# A process that is killed is started again, with the others, from the checkpoint. Then Ctrl-C, which comes to all
# processes in the foreground, stops the run.
set -m # a process group of its own
"$mega" launch -n 2 --restarts 1 -- "${train[@]}" --out "$work/again" --updates 1000000 >"$work/output" 2>&1 &
launcher=$!
wait_for_checkpoint "$work/again"
kill -9 "$(pgrep -P $launcher | sort -n | tail -n 1)"
for _ in $(seq 600); do grep -q "resumed after update" "$work/output" && break || sleep 0.1; done
last=$(newest "$work/again") # who has not begun yet would end at once
for _ in $(seq 600); do [ "$(newest "$work/again")" = "$last" ] && sleep 0.1 || break; done
kill -INT -- -$launcher
wait $launcher
[ $? = 130 ] || failed "Ctrl-C: $(cat "$work/output")"
for text in "rank 1 on localhost was ended by signal 9" "ended, or lost its connection" "starting again from its last checkpoint (1 of 1)" "resumed after update" \
  "stopped; resume with"; do
  grep -qF "$text" "$work/output" || failed "no \"$text\" in $(cat "$work/output")"
done

# Far processes stop as well, though a signal to ssh does not reach them.
PATH=$work/bin:$PATH "$mega" launch -n 2 --hosts hosts --master 127.0.0.1 --port $((20000 + RANDOM % 10000)) -- \
  "${train[@]}" --out far --updates 1000000 >"$work/output" 2>&1 &
launcher=$!
wait_for_checkpoint far
kill -TERM -- -$launcher
wait $launcher
[ $? = 143 ] || failed "SIGTERM: $(cat "$work/output")"
grep -q "stopped; resume with" "$work/output" || failed "far processes: $(cat "$work/output")"

echo "$failures failures"
[ "$failures" = 0 ]
