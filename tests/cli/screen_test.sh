# What people read fits a terminal of 80 columns.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
mega=$(realpath "$1") run=$(realpath "$2") terminal=$(realpath "$3")
export OMP_WAIT_POLICY=passive MEGA_CACHE=$work/cache
unset COLUMNS

# screen COLUMNS PROGRAM ARGUMENT...: what is on the screen, with the escape sequences taken out that have no width.
screen() { "$terminal" "$@" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g'; }
# fits PROGRAM ARGUMENT...: it succeeds and is not wider than the screen, whatever that is.
fits() {
  local columns width
  for columns in 80 132; do
    screen $columns "$@" >"$work/screen" || failed "$*: fails on a terminal of $columns columns"
    [ -s "$work/screen" ] || failed "$*: nothing on the screen"
    width=$(LC_ALL=C.UTF-8 wc -L <"$work/screen")
    if [ "$width" -gt $columns ]; then
      failed "$*: $width columns on a terminal of $columns"
      LC_ALL=C.UTF-8 awk -v most=$columns 'length($0) > most' "$work/screen"
    fi
  done
}
set -o pipefail

fits "$mega"
for command in presets data train eval predict generate score inspect quantize bench help; do
  fits "$mega" help $command
done
for command in "data make" "data make listops" "data make pathfinder" "data check"; do
  # shellcheck disable=SC2086
  fits "$mega" help $command
done
fits "$run"
for command in generate score predict inspect; do fits "$run" help $command; done
fits "$mega" train --options
fits "$mega" train lra-text --options
fits "$mega" train lra-text --options chunk
fits "$mega" presets
grep -qE '^lra-text .* 990,996 ' "$work/screen" || failed "presets: no parameters on the screen"
grep -qE ' (< 1|[0-9]+) (min|h|days|weeks|months|years) ' "$work/screen" || failed "presets: no readable time"
fits "$mega" inspect lra-text

# A run: configuration, estimate, progress, evaluations.
for i in $(seq 100); do printf 'good\tI like this %d\nbad\tI do not like this %d\n' "$i" "$i"; done >"$work/texts.tsv"
tiny=(--threads 1 --set model.layers=1 --set model.block.width=16 --set model.block.values=32 --set model.block.shared=8
  --set model.block.hidden=16 --set model.block.chunk=32 --set model.block.ema.dimension=4 --set input.units=bytes)
screen 80 "$mega" train text-small --data "$work/texts.tsv" --out "$work/run" "${tiny[@]}" \
  --updates 60 --set train.warmup=5 --set train.evaluate=20u >"$work/training" || failed "training on a terminal"
width=$(sed "s#$work#/work#g" "$work/training" | LC_ALL=C.UTF-8 wc -L)
[ "$width" -le 80 ] || { failed "training: $width columns" && cat "$work/training"; }
tr '\r' '\n' <"$work/training" | grep -q '^training  \[.*\].*loss' || failed "training: no bar with a loss"
tr '\r' '\n' <"$work/training" | grep -q '\].* left$' || failed "training: no time left"

fits "$mega" eval "$work/run"
grep -q "precision" "$work/screen" || failed "eval: no table"
cd "$work" || exit 1
fits "$mega" eval run --data texts.tsv
fits "$mega" predict run --text "I like it"
fits "$run" predict run --text "I like it"
fits "$run" inspect run

echo "$failures failures"
[ "$failures" = 0 ]
