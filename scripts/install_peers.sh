#!/bin/bash
# Installs what the benchmarks compare us with; the library needs none of it. Root, on Debian.
#
#   scripts/install_peers.sh                   ScaLAPACK, FFTW-MPI, MPICH and h5py over MPI (apt); mpi4py-fft, heat, JAX and Orbax (pip, in build/peers)
#   scripts/install_peers.sh --costa FOLDER    COSTA as well, from its sources (github.com/eth-cscs/COSTA with its submodules)
#   scripts/install_peers.sh --apt             what apt has alone
#
# What fails to install is said and left out; its benchmark then says skipped. Safe to run again: what is there stays.
# shellcheck disable=SC2317  # attempt calls the functions
set -uo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

costa='' python=1
while (($#)); do
  case $1 in
    --costa) costa=$(cd "${2:?"--costa needs the folder of its sources"}" && pwd) || exit 2; shift 2 ;;
    --apt) python=; shift ;;
    *)
      sed -n '2,/^# shellcheck/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | head -n -1 >&2
      exit 2 ;;
  esac
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
# attempt WHAT COMMAND...
attempt() {
  local what=$1
  shift
  say "installing $what"
  "$@" >"$log" 2>&1 </dev/null && return 0
  tail -n 5 "$log" >&2
  say "$what could not be installed: its benchmarks will say skipped"
  failed=1
  return 1
}

apt() {
  local wanted=() package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || wanted+=("$package")
  done
  ((${#wanted[@]})) || return 0
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 update &&
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "${wanted[@]}"
}

peers=$build/peers
mkdir -p "$peers"
attempt ScaLAPACK apt libscalapack-openmpi-dev
attempt FFTW-MPI apt libfftw3-dev libfftw3-mpi-dev

# Ourselves with another MPI.
build_with_mpich() {
  cmake -S "$root" --preset mpich -B "$build/mpich" && cmake --build "$build/mpich" --target benchmarks/reshard_worker
}
if attempt MPICH apt mpich libmpich-dev libhdf5-mpich-dev; then attempt "meshwise for MPICH" build_with_mpich; fi

if [[ -n $python ]]; then
  # Debian's Python, for its mpi4py (built for this MPI) and its torch (without gigabytes for accelerators), which heat stands on.
  interpreter=/usr/bin/python3
  if attempt "Python's venv" apt python3-venv python3-dev python3-mpi4py; then
    [[ -x $peers/mpi/bin/python ]] || "$interpreter" -m venv --system-site-packages "$peers/mpi"
    "$peers/mpi/bin/python" -c 'import mpi4py_fft' 2>/dev/null || attempt mpi4py-fft "$peers/mpi/bin/pip" install 'numpy<2' mpi4py-fft
    if ! "$peers/mpi/bin/python" -c 'import heat' 2>/dev/null; then
      attempt "torch, for heat" apt python3-torch python3-torchvision python3-scipy && attempt heat "$peers/mpi/bin/pip" install --no-deps 'heat<1.5'
    fi
    attempt "h5py over MPI" apt python3-h5py-mpi
    # One of its own: it wants a newer numpy than Debian's torch.
    [[ -x $peers/jax/bin/python ]] || "$interpreter" -m venv "$peers/jax"
    "$peers/jax/bin/python" -c 'import jax' 2>/dev/null || attempt JAX "$peers/jax/bin/pip" install jax
    "$peers/jax/bin/python" -c 'import orbax.checkpoint' 2>/dev/null || attempt Orbax "$peers/jax/bin/pip" install orbax-checkpoint
  fi
fi

build_costa() {
  cmake -S "$costa" -B "$peers/costa-build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O3 -march=native -DNDEBUG" \
    -DCMAKE_INSTALL_PREFIX="$peers/costa" -DCOSTA_WITH_TESTS=OFF -DCOSTA_WITH_APPS=OFF -DCOSTA_WITH_BENCHMARKS=OFF \
    -DCOSTA_SCALAPACK=OFF -DCOSTA_WITH_PROFILING=OFF -DBUILD_SHARED_LIBS=OFF &&
    cmake --build "$peers/costa-build" --target install
}
if [[ -n $costa ]]; then attempt COSTA build_costa; fi

# CMake looks for them when it configures.
if [[ -f $build/build.ninja ]]; then cmake "$build" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }; fi
exit $failed
