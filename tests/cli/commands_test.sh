# Commands of `mega`: help, versions, inspect, a small benchmark, and errors.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"

expect 0 "inspect" --help
expect 0 "libtorch" --version
expect 0 "BLAS" --version
expect 0 "lra-text" presets
expect 0 "990,996" presets

expect 0 "990,996" inspect lra-text
expect 0 '"parameters": 960004' inspect lra-text --set model.block.chunk=128 --json
expect 0 '"parameters": 283644' inspect lra-pathx-chunk --json
expect 0 "39,137,792" inspect enwik8
expect 0 "63,136,750" inspect wmt16-en-de
expect 0 "60,915,712" inspect wmt16-en-de --set model.kind=transformer
expect 0 "of activations" inspect lra-text --length 4096 --batch 2
expect 1 "did you mean" inspect lra-texd
expect 1 "chunk" inspect lra-text --set model.block.chunk=0
expect 1 "model.block.width" inspect lra-text --set model.block.widht=3
expect 1 "nothing.toml" inspect "$work/nothing.toml"
printf 'description = "x"\n[model]\nkind = "classifier"\nlayers = -3\n' >"$work/bad.toml"
expect 1 "bad.toml:4" inspect "$work/bad.toml"
head -c 100 /dev/urandom >"$work/noise.safetensors"
expect 1 "noise.safetensors" inspect "$work/noise.safetensors"
expect 2 "model is required" inspect
expect 0 "959,360" inspect lra-text --set model.kind=transformer

expect 0 "sgemm" bench ema --length 64 --batch 1 --repeats 1
expect 0 "share_of_sgemm" bench attention --length 64 --batch 1 --repeats 1 --json -
expect 0 "fused" bench layer --length 64 --repeats 1 --forms fused --json "$work/rows.json"
grep -q peak_growth_mb "$work/rows.json" || failed "no rows in the JSON file"
expect 0 "training step" bench step --length 64 --batch 1 --repeats 1
expect 0 "training step bytes-small, chunk 32" bench step --preset bytes-small --length 64 --batch 1 --chunk 32 --repeats 1
expect 1 "needs a preset of a Mega classifier or language model" bench step --preset translate-small --repeats 1
expect 0 "mega train" bench train --preset text-small --batch 1 --repeats 1
expect 0 "gates and activations" bench step --length 64 --batch 1 --repeats 1 --phases
expect 0 '"waiting"' bench layer --length 64 --repeats 1 --phases --json -
if grep -qw avx512_bf16 /proc/cpuinfo; then
  expect 0 bf16 bench step --length 64 --batch 1 --repeats 1 --precision f32,bf16
  expect 0 bf16 bench precision --updates 20 --seeds 1
  expect 1 "needs data" bench precision --preset bytes-small --updates 20
else
  expect 1 "does not multiply bf16" bench step --length 64 --batch 1 --repeats 1 --precision bf16
  expect 1 "does not multiply bf16" bench precision --updates 20 --seeds 1
fi
expect 2 "f16" bench step --precision f16
expect 2 "table" bench nonsense

echo "$failures failures"
[ "$failures" = 0 ]
