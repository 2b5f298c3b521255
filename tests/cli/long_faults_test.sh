# What goes wrong with the processes of a run: the others stop in time and say which it was, and the last checkpoint
# resumes; and who may join.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
. "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"

# process_of LAUNCHER RANK: its number
process_of() {
  local process
  for process in $(pgrep -P "$1"); do
    tr '\0' '\n' <"/proc/$process/environ" | grep -qx "RANK=$2" && echo "$process"
  done
}
# resumes RUN: its newest checkpoint is whole, for another number of processes
resumes() {
  local update
  update=$((10#$(basename "$(newest "$1")")))
  expect 0 "resumed after update $update" launch -n 2 -- train --resume --out "$1" --updates $((update + 5)) --threads 1
}
has() { grep -qE "$2" "$1" || failed "no \"$2\" in: $(cat "$1")"; }

# fault NAME RANK SECONDS TEXT COMMAND...: while a run of 3 goes on, COMMAND PROCESS is done to a rank. The others end
# within so many seconds with TEXT.
fault() {
  local name=$1 rank=$2 most=$3 text=$4 launcher process start took other=$((($2 + 1) % 3))
  shift 4
  MEGA_SILENCE_SECONDS=3 "$mega" launch -n 3 -- "${train[@]}" --out "$work/$name" --updates 1000000 >"$work/output" 2>&1 &
  launcher=$!
  wait_for_checkpoint "$work/$name"
  other=$(process_of $launcher $other)
  process=$(process_of $launcher "$rank")
  start=$(date +%s)
  "$@" "$process"
  for _ in $(seq 600); do kill -0 "$other" 2>/dev/null && sleep 0.1 || break; done
  took=$(($(date +%s) - start))
  kill -9 "$process" 2>/dev/null # who is stopped does not end by itself
  wait $launcher && failed "$name: the run did not fail"
  [ $took -le "$most" ] || failed "$name: it took $took s to stop"
  has "$work/output" "$text"
  [ "$rank" = 0 ] || has "$work/output" "The last checkpoint is intact: go on with --resume"
  echo "$name: stopped within $took s"
  resumes "$work/$name"
}
fault killed 2 20 'rank 2 \(.*\) ended, or lost its connection' kill -9
fault first_killed 0 20 'rank 0 \(.*\) ended, or lost its connection' kill -9
fault stopped 2 20 'rank 2 \(.*\) has given no sign of life for 3 s' kill -STOP
fault first_stopped 0 20 'rank 0 \(.*\) has given no sign of life for 3 s' kill -STOP

# A stopped process is ended by the launcher, and all are started again; but not more often than allowed.
MEGA_SILENCE_SECONDS=1 "$mega" launch -n 2 --restarts 1 -- "${train[@]}" --out "$work/again" --updates 1000000 \
  >"$work/output" 2>&1 &
launcher=$!
wait_for_checkpoint "$work/again"
kill -STOP "$(process_of $launcher 1)"
for _ in $(seq 900); do grep -q "resumed after update" "$work/output" && break || sleep 0.1; done
kill -9 "$(process_of $launcher 1)"
wait $launcher && failed "it was started again too often"
has "$work/output" "has given no sign of life for 1 s"
[ "$(grep -c 'starting again from its last checkpoint' "$work/output")" = 1 ] || failed "$(cat "$work/output")"
resumes "$work/again"

# A machine that cannot be reached: who waits for it is ended.
mkdir "$work/bin"
printf 'exit 255\n' >"$work/bin/ssh"
chmod +x "$work/bin/ssh"
PATH=$work/bin:$PATH MEGA_SILENCE_SECONDS=1 expect 255 "rank 1 on nowhere cannot be reached by ssh" \
  launch -n 2 --hosts <(printf 'localhost\nnowhere\n') --master 127.0.0.1 -- "${train[@]}" --out "$work/nowhere"

# A disk that is full where checkpoints are written, and where another rank keeps what it needs. (A limit of the size
# of files: writing fails in the same way.)
"$mega" launch -n 2 -- "${train[@]}" --out "$work/full" --updates 1000000 >"$work/output" 2>&1 &
launcher=$!
wait_for_checkpoint "$work/full"
prlimit --pid "$(process_of $launcher 0)" --fsize=16384
for _ in $(seq 600); do grep -q "a checkpoint could not be saved" "$work/output" && break || sleep 0.1; done
kill -TERM $launcher
wait $launcher && failed "a full disk was not noticed"
has "$work/output" "warning: a checkpoint could not be saved, training continues: .*File too large"
has "$work/output" "mega: the last checkpoint could not be saved"
resumes "$work/full"
port=$((20000 + RANDOM % 10000))
rank 0 2 $port "$mega" "${train[@]}" --out "$work/other_full" >"$work/rank0" 2>&1 &
first=$!
rank 1 2 $port bash -c 'ulimit -f 0; exec "$@"' limited "$mega" "${train[@]}" --out "$work/other_full" >"$work/rank1" 2>&1 &&
  failed "rank 1 went on without room"
wait $first && failed "rank 0 went on without rank 1"
has "$work/rank0" "rank 1 \(.*File too large"

# Another recipe is refused, and both say what differs.
rank 0 2 $port "$mega" "${train[@]}" --out "$work/differ" >"$work/rank0" 2>&1 &
first=$!
rank 1 2 $port "$mega" "${train[@]}" --out "$work/differ" --batch 16 >"$work/rank1" 2>&1 && failed "another recipe was accepted"
wait $first && failed "another recipe was accepted by rank 0"
for n in 0 1; do has "$work/rank$n" "rank 1 \(.*train.batch = 16, and train.batch = 15 with rank 0"; done
[ ! -e "$work/differ" ] || failed "a refused run has a folder"

# Nobody to meet; a port in use; and a late rank, after strangers that speak nonsense, say nothing, or guess the token.
rank 1 2 $port env MEGA_JOIN_SECONDS=2 "$mega" "${train[@]}" >"$work/rank1" 2>&1 && failed "nobody was missed"
has "$work/rank1" "rank 1 \(.*did not get to rank 0 at 127.0.0.1:$port within 2"
rank 0 2 $port "$mega" "${train[@]}" --out "$work/late" >"$work/rank0" 2>&1 &
first=$!
for _ in $(seq 200); do (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 0.1; done
rank 0 2 $port "$mega" "${train[@]}" --out "$work/port" >"$work/output" 2>&1 && failed "a port was used twice"
has "$work/output" "cannot listen on 127.0.0.1:$port: .*; choose another port \(MASTER_PORT\)"
for _ in $(seq 20); do head -c 100000 /dev/urandom 2>/dev/null >"/dev/tcp/127.0.0.1/$port"; done 2>/dev/null
exec {silent}<>"/dev/tcp/127.0.0.1/$port"
rank 1 2 $port env MEGA_TOKEN=guessed MEGA_JOIN_SECONDS=2 "$mega" "${train[@]}" >"$work/rank1" 2>&1 && failed "a guess was let in"
has "$work/rank1" MEGA_TOKEN
rank 1 2 $port "$mega" "${train[@]}" --out "$work/late" >"$work/rank1" 2>&1 || failed "the late rank: $(cat "$work/rank1")"
wait $first || failed "rank 0 of the late one: $(cat "$work/rank0")"
exec {silent}>&-
[ ! -s "$work/rank1" ] || failed "rank 1 spoke without need: $(cat "$work/rank1")"
has "$work/rank0" "test accuracy"

echo "$failures failures"
[ "$failures" = 0 ]
