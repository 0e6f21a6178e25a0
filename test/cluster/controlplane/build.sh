#!/usr/bin/env bash
# Builds the control plane, if need be, and prints the path of the binary.
# Needs Go 1.25 or newer and the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")"
[ -n "$(command -v go)" ] || PATH=$PATH:/usr/local/go/bin
kubernetes=$(sed -n 's/^\tk8s.io\/kubernetes \(v.*\)$/\1/p' go.mod)
key=$(cat build.sh go.mod go.sum ./*.go | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kvasir
bin=$cache/controlplane-$key
mkdir -p "$cache"
exec 9>"$cache/lock" && flock 9
if [ ! -x "$bin" ]; then
  # -trimpath makes the build cache hold across checkouts; leaving out DWARF saves time.
  go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes" -o "$bin.tmp" . >&2
  mv "$bin.tmp" "$bin"
fi
touch "$bin"
find "$cache" -name 'controlplane-*' -mtime +30 -delete
echo "$bin"
