# Two processes in network namespaces of their own, with a slow link between them that is then cut.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
a="mega-a-$$" b="mega-b-$$" link=
trap 'kill $link 2>/dev/null; for space in "$a" "$b"; do ip netns del "$space" 2>/dev/null; done; rm -rf "$work"' EXIT
if ! { ip netns add "$a" && ip netns add "$b"; } 2>"$work/why"; then
  echo "skipped: no network namespaces here, which need root and iproute2: $(cat "$work/why")"
  exit 0
fi
# 1 Gbit/s, 1 ms there and back
"$(dirname "$3")/slow_link" "$a" "$b" 1000 500 2>"$work/why" &
link=$!
for end in "$a 10.213.0.1" "$b 10.213.0.2"; do
  read -r space address <<<"$end"
  for _ in $(seq 100); do ip -n "$space" link show slow >/dev/null 2>&1 && break || sleep 0.1; done
  if ! ip -n "$space" address add "$address/24" dev slow; then
    echo "skipped: no TUN devices here: $(cat "$work/why")"
    exit 0
  fi
  ip -n "$space" link set slow mtu 9000 up
  ip -n "$space" link set lo up
done
. "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"

export MASTER_ADDR=10.213.0.1 MASTER_PORT=29500 MEGA_TOKEN=secret WORLD_SIZE=2 MEGA_SILENCE_SECONDS=3 MEGA_JOIN_SECONDS=20
# both NAME ARGUMENT...: rank 0 in one namespace and rank 1 in the other; their processes are $first and $second
both() {
  RANK=0 ip netns exec "$a" "$mega" "${train[@]}" --out "$work/$1" "${@:2}" >"$work/rank0" 2>&1 &
  first=$!
  RANK=1 ip netns exec "$b" "$mega" "${train[@]}" --out "$work/$1" "${@:2}" >"$work/rank1" 2>&1 &
  second=$!
}

# Across the link as in one process.
unset RANK
env -u WORLD_SIZE "$mega" "${train[@]}" --out "$work/one" >"$work/output" 2>&1 || failed "alone: $(cat "$work/output")"
for wire in exact bf16; do
  both "$wire" --set "train.processes.wire=$wire" --set train.processes.bucket=8
  wait $first || failed "$wire: $(cat "$work/rank0")"
  wait $second || failed "$wire: $(cat "$work/rank1")"
  for n in 0 1; do
    sent=$(grep -o "rank $n ([^)]*).\{1,80\}sent [^<]*" "$work/$wire/report.html") || failed "$wire: nothing of what rank $n sent"
    echo "$wire: ${sent//<*>/ }"
  done
done
close "$(loss "$work/one")" "$(loss "$work/exact")" || failed "loss $(loss "$work/exact"), not $(loss "$work/one")"

# While it waits, rank 0 listens on the address it was given and on no other.
RANK=0 ip netns exec "$a" "$mega" "${train[@]}" --out "$work/alone" >"$work/rank0" 2>&1 &
first=$!
for _ in $(seq 100); do ip netns exec "$a" ss -ltnH | grep -q 29500 && break || sleep 0.1; done
others=$(ip netns exec "$a" ss -ltnH | awk '{print $4}' | grep -v '^10\.213\.0\.1:')
[ -z "$others" ] || failed "it listens on $others"
wait $first && failed "rank 0 went on alone"
grep -q "no sign of rank 1 after 20 s at 10.213.0.1:29500" "$work/rank0" || failed "no word of the missing rank: $(cat "$work/rank0")"

# The link is cut.
both cut --updates 1000000
wait_for_checkpoint "$work/cut"
start=$(date +%s)
ip -n "$a" link set slow down
wait $first && failed "rank 0 went on without its link"
wait $second && failed "rank 1 went on without its link"
echo "a cut link: stopped within $(($(date +%s) - start)) s"
grep -q "rank 1 (.*no sign of life" "$work/rank0" || failed "rank 0: $(cat "$work/rank0")"
grep -q "rank 0 (.*no sign of life" "$work/rank1" || failed "rank 1: $(cat "$work/rank1")"
env -u WORLD_SIZE "$mega" train --resume --out "$work/cut" --threads 1 \
  --updates "$((10#$(basename "$(newest "$work/cut")") + 5))" 2>&1 | grep -q "resumed after update" || failed "no resuming"

# A master that cannot be reached.
RANK=1 MEGA_JOIN_SECONDS=2 ip netns exec "$b" "$mega" "${train[@]}" --out "$work/none" >"$work/rank1" 2>&1 && failed "nobody was missed"
grep -q "rank 1 (.*did not get to rank 0 at 10.213.0.1:29500 within 2" "$work/rank1" || failed "$(cat "$work/rank1")"

echo "$failures failures"
[ "$failures" = 0 ]
