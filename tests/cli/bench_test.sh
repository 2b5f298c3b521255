# The tables of the paper by `mega bench`: each measures systems in processes of their own, at sizes of a test.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
. "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"

few=(--length 64 --batch 1 --repeats 1 --threads 1)

expect 0 "s4-v2" bench table2 "${few[@]}" --only transformer-plain,s4-v2,mega-chunk --json "$work/table2.json" --csv "$work/table2.csv"
grep -q '"speed": [0-9]' "$work/table2.json" || failed "no speeds in table2.json: $(cat "$work/table2.json")"
[ "$(wc -l <"$work/table2.csv")" = 4 ] || failed "table2.csv has not three rows: $(cat "$work/table2.csv")"
expect 1 "it has transformer-plain" bench table2 --only nonsense

expect 0 "enwik8-mega" bench lm-table "${few[@]}" --quick --only enwik8-mega

expect 0 "time exponent" bench scaling --length 32,64 --repeats 1 --threads 1 --only mega,mega-chunk --charts "$work/charts" --json "$work/scaling.json"
for chart in time memory; do
  grep -q "mega-chunk" "$work/charts/scaling-$chart.svg" || failed "no chart of $chart"
done
grep -q '"exponents"' "$work/scaling.json" || failed "no exponents in scaling.json"

expect 0 "chunk size" bench ablation "${few[@]}" --only chunk-16,chunk-full,attention-relu2 --charts "$work/charts"
[ -s "$work/charts/ablation-chunk.svg" ] || failed "no chart of chunks"
expect 1 "chunk-full" bench ablation --only chunk-1000
expect 1 "--time" bench ablation --only ema-1 --data "$work/data"
expect 0 "score" bench ablation --preset "$work/tiny.toml" --only attention "${few[@]}" --time 2s --data "$work/data" --out "$work/ablation" --set model.head=8
grep -q '"head": 8' "$work/ablation/attention/attention=relu2-seed-1/recipe.json" || failed "--set did not reach the models"
expect 1 "only ablation" bench step --set model.head=8
[ -s "$work/ablation/attention/over-updates.svg" ] || failed "no curves of the attention functions"

expect 0 "0.7071" bench functions --charts "$work/charts" --json -
grep -q "laplace" "$work/charts/attention-functions.svg" || failed "no chart of the functions"
touch "$work/file"
expect 1 "folder" bench functions --charts "$work/file"

[ $failures = 0 ]
