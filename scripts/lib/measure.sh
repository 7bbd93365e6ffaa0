# What the measuring scripts share. To be sourced from the top of the checkout.

build_release() {
  cargo build --release --quiet --package goodput
  goodput=${CARGO_TARGET_DIR:-target}/release/goodput
}

new_folder() {
  local folder
  folder=$(mktemp -d "${TMPDIR:-/tmp}/goodput-measure.XXXXXX")
  echo "$folder"
}

# run_one FOLDER SCENARIO [FLAG…]: a run whatever its verdict; its result lands in FOLDER.
run_one() {
  local folder=$1
  shift
  "$goodput" run "$@" --quiet --out "$folder" > "$folder.log" 2>&1 || true
}
