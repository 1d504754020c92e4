# Sourced by the other scripts: what to install, how to build. Needs bash and coreutils alone.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${MESHWISE_BUILD_DIR:-$root/build}
case $build in /*) ;; *) build=$PWD/$build ;; esac

packages=(g++ cmake ninja-build python3 libopenmpi-dev openmpi-bin libboost-mpi-dev libboost-serialization-dev
  libhdf5-openmpi-dev libopenblas-dev libfmt-dev nlohmann-json3-dev libcli11-dev libgtest-dev libisal-dev iproute2)

say() { echo "meshwise: $*" >&2; }

# Installs what is missing (as root), or says the one command that does. Other systems than Debian's are left
# to CMake, which names what it cannot find.
install_missing() {
  command -v dpkg-query >/dev/null || return 0
  local -A have=()
  local name status
  while read -r name status; do
    [[ $status == *installed ]] && have[$name]=1
  done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | grep ' installed$')
  local missing=()
  for name in "${packages[@]}"; do [[ -v have[$name] ]] || missing+=("$name"); done
  ((${#missing[@]})) || return 0
  local command="apt-get install -y --no-install-recommends ${missing[*]}"
  if ((EUID != 0)); then
    say "some packages are missing; this installs them:"
    echo "  sudo apt-get update && sudo $command" >&2
    return 1
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  local log
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get -o DPkg::Lock::Timeout=600 update && apt-get -o DPkg::Lock::Timeout=600 ${command#apt-get}; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    say "the installation failed"
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# build_targets TARGET...: configures where that was never done or other options are asked for
# (MESHWISE_CMAKE_ARGS), and builds. One line when there is something to do, nothing otherwise.
build_targets() {
  mkdir -p "$build"
  exec 9>"$build/.lock"
  flock 9  # two callers never build at the same time
  local log=$build/build.log options=${MESHWISE_CMAKE_ARGS:-} old=
  [[ -f $build/.options ]] && old=$(<"$build/.options")
  if [[ ! -f $build/build.ninja || ( -n $options && $options != "$old" ) ]]; then
    say "configuring ${build#"$PWD"/}"
    # shellcheck disable=SC2086
    if ! cmake -S "$root" -B "$build" -G Ninja $options >"$log" 2>&1 9>&-; then
      cat "$log" >&2
      rm -f "$build/build.ninja"
      return 1
    fi
    echo "$options" >"$build/.options"
  fi
  local status=0 line said= last=
  while IFS= read -r line; do
    echo "$line" >&8
    last=$line
    [[ $line == \[*/*\]\ [BL]* ]] || continue  # Building, Linking; not the look at the folders
    [[ -n $said ]] || { say "building ${*:-everything}"; said=1; }
    [[ -t 2 ]] && printf '\r%s' "${line%%]*}] " >&2
  done 8>"$log" < <(NINJA_STATUS='[%f/%t] ' ninja -C "$build" "$@" 2>&1 9>&- || echo "build failed")
  [[ -n $said && -t 2 ]] && printf '\r' >&2
  if [[ $last == "build failed" ]]; then
    status=1
    # What is there but is not made by this build is not the build's affair.
    [[ -x $build/${1:-} && $(<"$log") == *"unknown target"* ]] && status=0
    ((status == 0)) || grep -Ev '^(\[[0-9]*/[0-9]*\] [A-Z]|ninja: Entering|build failed)' "$log" | head -n 100 >&2
  fi
  exec 9>&-
  return $status
}
