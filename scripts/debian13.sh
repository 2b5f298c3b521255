#!/usr/bin/env bash
# Runs ./check on a copy of this tree inside a Debian 13 chroot; arguments are passed on to it.
# The chroot is kept, with its packages and build folder, so that the next run is short.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/setup.sh

root=${MEGA_DEBIAN13:-${XDG_CACHE_HOME:-$HOME/.cache}/mega/debian13}

[ "$(id -u)" = 0 ] || die "--debian13 makes a chroot, which needs root. Run: sudo ./check --debian13"
case $root in /*/*) ;; *) die "MEGA_DEBIAN13 must be an absolute path below a directory of its own: $root" ;; esac
have apt-get || die "--debian13 needs apt-get and the package sources of a Debian or Ubuntu machine"

# The first of this machine's own package sources that has Debian 13. apt-get reads every form of them.
find_mirror() {
  local uri
  # shellcheck disable=SC2016  # a field of apt-get, not of the shell
  for uri in ${MEGA_DEBIAN13_MIRROR:-$(
    apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' | sort -u
  )}; do
    if /usr/lib/apt/apt-helper download-file "${uri%/}/dists/trixie/InRelease" "$scratch/release" &&
      grep -q '^Origin: Debian$' "$scratch/release"; then
      mirror=$uri
      return
    fi
  done >/dev/null 2>&1
  die "none of this machine's package sources has Debian 13; name a mirror in MEGA_DEBIAN13_MIRROR"
}

make_root() {
  install_packages debootstrap debian-archive-keyring
  local mirror scratch proxy=
  scratch=$(mktemp -d)
  find_mirror
  rm -r "$scratch"

  # debootstrap downloads by itself and does not know apt's proxy.
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  if [ -n "$proxy" ] && [ "$proxy" != DIRECT ]; then
    export http_proxy="$proxy" https_proxy="${https_proxy:-$proxy}"
  fi

  # Made aside and renamed, so that an interrupted run leaves nothing that looks complete.
  # What debootstrap mounts stays in a mount namespace of its own and ends with it.
  mkdir -p "$(dirname "$root")"
  rm -rf --one-file-system "$root.partial"
  unshare --mount --propagation private \
    debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    trixie "$root.partial" "$mirror"
  mv "$root.partial" "$root"
}

# What this machine needs to reach the mirror, the chroot needs too.
copy_network_settings() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  apt-config dump | grep -E '^Acquire::(https?::|Check-Valid-Until|Retries|ForceIPv)' |
    grep -v 'Auto-\?Detect' >"$root/etc/apt/apt.conf.d/00host" || true
  if [ -d /usr/local/share/ca-certificates ]; then
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
  fi
  if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi
}

# Files that git knows or would add; the chroot's own build folders stay, for the next run. What changed gets the time
# of the copy: a file that was edited while the last run compiled its old text is older than what came of that.
copy_source() {
  local target=$root/src/mega file
  mkdir -p "$target"
  git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard >"$target.files"
  (cd "$target" && find . -type f ! -path './build*' -printf '%P\0') |
    { grep -zvxFf <(tr '\0' '\n' <"$target.files") || true; } | (cd "$target" && xargs -0r rm -f)
  while IFS= read -r -d '' file; do
    # A file that was deleted but not yet staged is still listed.
    if [ -e "$file" ] && ! cmp -s "$file" "$target/$file"; then
      mkdir -p "$target/$(dirname "$file")"
      cp --preserve=mode "$file" "$target/$file"
    fi
  done <"$target.files"
}

[ -e "$root/etc/debian_version" ] || make_root
install_packages git
copy_network_settings
copy_source
say "Debian $(cat "$root/etc/debian_version") in $root"

# The mounts live in a namespace that ends with the command: nothing to undo, whatever happens.
export root
# shellcheck disable=SC2016  # expanded by the inner shell
exec unshare --mount --propagation private --pid --fork --kill-child bash -euc '
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    TERM="${TERM:-dumb}" ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    ${no_proxy:+no_proxy="$no_proxy"} \
    chroot "$root" bash -c "cd /src/mega && exec ./check \"\$@\"" "$@"' bash check "$@"
