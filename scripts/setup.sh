# Set-up and build, shared by ./check and ./quickstart; sourced, not run.
# Needs nothing but bash and coreutils: on a bare Debian, this file installs the rest.
# shellcheck shell=bash

# What the build and the tests use.
mega_packages=(
  cmake ninja-build g++ pkg-config
  libtorch-dev libdnnl-dev libopenblas0-openmp libhwy-dev
  zlib1g-dev liblzma-dev libzstd-dev libsndfile1-dev libsamplerate0-dev libpng-dev libjpeg-dev
  libwebp-dev
  libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libgtest-dev
  sentencepiece
)

# What ./check uses besides.
# shellcheck disable=SC2034  # used there
check_packages=(clang-format)

if [ -t 1 ]; then
  bold=$'\e[1m' red=$'\e[31m' yellow=$'\e[33m' plain=$'\e[0m'
else
  bold='' red='' yellow='' plain=''
fi

say() { printf '%s\n' "$bold== $*$plain"; }
note() { printf '%s\n' "${yellow}note:$plain $*" >&2; }
die() {
  printf '%s\n' "${red}error:$plain $*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# stage NAME COMMAND...: runs a command under a heading and remembers how long it took.
stage_times=()
stage() {
  local name=$1 start=$SECONDS status
  shift
  say "$name"
  # Not `"$@" || status=$?`, which would switch -e off for everything the command does.
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  set -e
  stage_times+=("$((SECONDS - start)) $name")
  [ "$status" = 0 ] || die "$name failed"
}

print_stage_times() {
  local entry seconds
  for entry in "${stage_times[@]}"; do
    seconds=${entry%% *}
    printf '%s%5d:%02d  %s%s\n' "$bold" $((seconds / 60)) $((seconds % 60)) "${entry#* }" "$plain"
  done
}

# As many jobs as there are cores, if memory allows: a file that includes libtorch takes up to 1.5 GB.
default_jobs() {
  local cores key kilobytes _
  cores=$(nproc)
  while read -r key kilobytes _; do
    if [ "$key" = MemAvailable: ] && [ $((kilobytes / 1500000)) -lt "$cores" ]; then
      cores=$((kilobytes / 1500000))
    fi
  done </proc/meminfo
  echo $((cores > 1 ? cores : 1))
}

missing_packages() {
  local package
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null) in
      installed*) ;;
      *) echo "$package" ;;
    esac
  done
}

# install_packages NAME...: installs those that are missing; does not call apt-get when there are none.
install_packages() {
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
    sudo -n true 2>/dev/null || die "packages are missing. Run this, then start again:
  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}"
  fi
  echo "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install ${missing[*]} (Debian 12 or newer has them all)"
}

# libtorch multiplies matrices with whatever libblas.so.3 is. The OpenMP build of OpenBLAS shares
# libtorch's threads; the reference BLAS is many times slower.
check_blas() {
  local link name status
  for link in /etc/alternatives/libblas.so.3-*; do
    name=${link##*/}
    case $(readlink "$link") in
      '' | */openblas-openmp/*) continue ;;
    esac
    status=$(update-alternatives --query "$name" | grep '^Status:')
    note "libblas.so.3 is $(readlink "$link") (${status#Status: }), not the OpenMP build of OpenBLAS.
  For full speed: sudo update-alternatives --set $name /usr/lib/${name#libblas.so.3-}/openblas-openmp/libblas.so.3"
  done
}

# setup [PACKAGE...]: what the build and the tests use, and these.
setup() {
  local packages=("${mega_packages[@]}" "$@")
  if ! have apt-get || ! have dpkg-query; then
    note "this is not Debian or Ubuntu, so nothing is installed. CMake has to find: libtorch, oneDNN (libdnnl),
  Highway, zlib, liblzma, zstd, libsndfile, libsamplerate, libpng, libjpeg, libwebp, CLI11, nlohmann/json, toml++, GoogleTest,
  pkg-config, and a C++20 compiler; Ninja builds. SentencePiece's programs learn vocabularies of pieces."
    return
  fi
  # ccache shortens the second build, but nobody should need root for that alone.
  if [ -n "$(missing_packages "${packages[@]}")" ]; then
    install_packages "${packages[@]}" ccache
  fi
  check_blas
}

# configure FOLDER [CMAKE OPTION...]
configure() {
  local folder=$1
  shift
  cmake -S . -B "$folder" -G Ninja "$@"
}
