#!/usr/bin/env bash
# Installs into a folder of its own, builds the example against that as a stranger would, and runs it.
# usage: example_test.sh EXAMPLE BUILD_FOLDER COMPILER CMAKE
set -euo pipefail
example=$1 build=$2 compiler=$3 cmake=$4
prefix=$build/example/prefix

"$cmake" --install "$build" --prefix "$prefix" >/dev/null
"$cmake" -S "$example" -B "$build/example/build" -G Ninja \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix"
"$cmake" --build "$build/example/build"
"$build/example/build/drop_in"
