# Sourced. Stand-ins for base images, made of what a Debian host has. `make_base_images` is the entry.
shopt -s inherit_errexit

BASE_CACHE="${GOODPUT_CACHE:-/var/cache/goodput}"

# Makes every image that is missing in the engine.
make_base_images() {
  mkdir -p "$BASE_CACHE"
  local base rust prometheus
  base=$(sed -n 's/^ARG BASE_IMAGE=//p' Dockerfile)
  rust=$(sed -n 's/^ARG RUST_IMAGE=//p' Dockerfile)
  prometheus=$(prometheus_image)
  import_unless_there "$base" base_tar
  import_unless_there "$rust" rust_tar --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin'
  import_unless_there "$prometheus" prometheus_tar \
    --change 'ENV PATH=/usr/bin:/bin' --change 'USER 65534' --change 'ENTRYPOINT ["/usr/bin/prometheus"]' \
    --change 'EXPOSE 9090' --change 'VOLUME ["/prometheus"]'
}

# The name and tag that docker-compose.yml asks for by default.
prometheus_image() {
  sed -n 's/.*image: \${PROMETHEUS_IMAGE:-\([^}]*\)}:\${PROMETHEUS_TAG:-\([^}]*\)}.*/\1:\2/p' docker-compose.yml
}

# NAME MAKER [IMPORT-OPTION…]: MAKER prints the path of a tar file.
import_unless_there() {
  local name=$1 maker=$2 tar
  shift 2
  if docker image inspect "$name" >/dev/null 2>&1; then
    echo "$name: is there"
    return
  fi
  tar=$("$maker")
  docker import "$@" "$tar" "$name" >/dev/null
  echo "$name: stand-in made of $tar"
}

# Debian with the certificates of this host, as the smallest image has it.
base_tar() {
  local tar
  tar="$BASE_CACHE/base-$(release).tar"
  [ -s "$tar" ] || pack "$tar" base_root
  echo "$tar"
}

# The base with a linker, and the compiler that is installed here.
rust_tar() {
  local tar
  tar="$BASE_CACHE/rust-$(release)-$(rustc --version | cut -d' ' -f2).tar"
  [ -s "$tar" ] || pack "$tar" rust_root
  echo "$tar"
}

# The base with Debian's Prometheus and promtool.
prometheus_tar() {
  local tar
  tar="$BASE_CACHE/prometheus-$(release).tar"
  [ -s "$tar" ] || pack "$tar" prometheus_root
  echo "$tar"
}

# TAR MAKER: what MAKER puts into a folder becomes TAR, at once or not at all.
pack() {
  local tar=$1 maker=$2 root code
  root=$(mktemp -d "$BASE_CACHE/root.XXXXXX")
  # Not as a condition: that would let the maker go on after a failure.
  set +e
  (set -e; "$maker" "$root") >"$tar.log" 2>&1
  code=$?
  set -e
  if [ "$code" -ne 0 ]; then
    tail -n 20 "$tar.log" >&2
    rm -rf "$root"
    echo "cannot make $tar; $tar.log has it all" >&2
    return 1
  fi
  chmod 0755 "$root"
  tar -C "$root" -cf "$tar.partial" .
  mv "$tar.partial" "$tar"
  rm -rf "$root"
}

base_root() {
  # The mirror that apt uses here, else debootstrap's own.
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $(release)" "Created-By: Packages" 2>/dev/null | sort -u | head -n 1)
  debootstrap --variant=minbase --include=ca-certificates "$(release)" "$1" ${mirror:+"$mirror"}
  rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/* "$1"/usr/share/{doc,man,locale}/*
  # Whoever builds behind a registry of their own needs its certificate authority.
  cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"
}

rust_root() {
  local sysroot target
  tar -C "$1" -xf "$(base_tar)"
  install_debian "$1" gcc libc6-dev
  sysroot=$(rustc --print sysroot)
  target=$(rustc -vV | sed -n 's/^host: //p')
  mkdir -p "$1/usr/local/lib/rustlib"
  cp "$sysroot"/bin/{cargo,rustc,rustdoc} "$1/usr/local/bin/"
  cp -a "$sysroot"/lib/*.so* "$1/usr/local/lib/"
  cp -a "$sysroot/lib/rustlib/$target" "$1/usr/local/lib/rustlib/"
  chroot "$1" cargo --version
}

prometheus_root() {
  tar -C "$1" -xf "$(base_tar)"
  local debs
  debs=$(mktemp -d)
  # Unpacked rather than installed: the programs need nothing but the C library, and want no service.
  (cd "$debs" && apt-get download prometheus)
  dpkg-deb --fsys-tarfile "$debs"/prometheus_*.deb | tar -C "$1" --keep-directory-symlink -x
  chroot "$1" prometheus --version
  chroot "$1" promtool --version
  rm -rf "$debs" "$1/etc/prometheus"
  mkdir -p "$1/etc/prometheus" "$1/prometheus"
  chown 65534:65534 "$1/prometheus"
}

# ROOT PACKAGE…: by the host's apt, its sources and keys, into ROOT.
install_debian() {
  local root=$1
  shift
  mkdir -p "$root/var/cache/apt/archives/partial"
  local archives
  archives=$(mktemp -d)
  apt-get --yes --no-install-recommends --download-only \
    -o "Dir::State::status=$root/var/lib/dpkg/status" -o "Dir::Cache::archives=$archives" install "$@"
  mkdir -p "$root/debs"
  cp "$archives"/*.deb "$root/debs/"
  DEBIAN_FRONTEND=noninteractive chroot "$root" sh -c 'dpkg --install /debs/*.deb'
  rm -rf "$root/debs" "$archives"
}

# The Debian release of this host, which is the one of the toolchain's C library.
release() {
  (. /etc/os-release && echo "$VERSION_CODENAME")
}
