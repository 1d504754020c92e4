#!/bin/bash
# Slurm on emulated hosts, to try a job script without a cluster. Root; packages slurmctld slurmd slurm-client munge.
#
#   scripts/slurm_hosts.sh N COMMAND ...     N hosts up, Slurm on them, the command on host1, and all of it gone again
#   scripts/slurm_hosts.sh 2 sbatch -W scripts/slurm_example.sh build/examples/digits
#
# The daemons, their files and their settings live inside the hosts' namespaces and end with them; each host has a /tmp
# of its own, so the program and the folder this is called from must not be under /tmp.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
self=$(readlink -f "${BASH_SOURCE[0]}")
multinode=$root/scripts/multinode.sh
subnet=10.77.0

# ---- inside, on host 1: settings, the controller ----
controller() {
  local hosts=$1 folder i
  for folder in /etc/munge /run/munge /var/lib/munge /var/log/munge /etc/slurm /var/spool; do
    mkdir -p "$folder"
    mount -t tmpfs -o mode=755 tmpfs "$folder"
  done
  mkdir -p /var/spool/controller
  head -c 1024 /dev/urandom >/etc/munge/munge.key
  chown -R munge:munge /etc/munge /run/munge /var/lib/munge /var/log/munge
  chmod 400 /etc/munge/munge.key
  chmod 700 /etc/munge /var/lib/munge /var/log/munge
  setpriv --reuid=munge --regid=munge --init-groups munged
  {
    cat <<'CONF'
ClusterName=emulated
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=/var/spool/controller
SlurmdSpoolDir=/var/spool/%n
SlurmctldPidFile=/var/spool/controller.pid
SlurmdPidFile=/var/spool/%n.pid
SlurmctldLogFile=/var/spool/controller.log
SlurmdLogFile=/var/spool/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
CONF
    echo "SlurmctldHost=host1($subnet.1)"
    for ((i = 1; i <= hosts; ++i)); do echo "NodeName=host$i NodeAddr=$subnet.$i CPUs=4 State=UNKNOWN"; done
    echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
  } >/etc/slurm/slurm.conf
  slurmctld
}

# ---- inside, on each host: PMIx of two hosts would clash in one /tmp ----
node() {
  mkdir -p "/var/spool/host$1"
  # shellcheck disable=SC2016
  unshare --mount bash -c 'mount -t tmpfs -o mode=1777 tmpfs /tmp; exec slurmd -N "$1"' - "host$1"
}

# ---- inside: what the caller wants, once all nodes are idle ----
ready() {
  local hosts=$1 k
  shift
  for ((k = 0; k < 150; ++k)); do
    if [[ $(sinfo --noheader --states=idle --format=%D 2>/dev/null) == "$hosts" ]]; then exec "$@"; fi
    sleep 0.2
  done
  sinfo >&2 || true
  tail -n 5 /var/spool/*.log >&2 || true
  exit 1
}

case ${1:-} in
  controller | node | ready) "$@"; exit ;;
esac
if [[ ! ${1:-} =~ ^[1-9][0-9]*$ || $# -lt 2 ]]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "$self" | head -n -1 >&2
  exit 2
fi
for command in slurmctld slurmd sbatch munged; do
  command -v "$command" >/dev/null || { say "skipped: $command is not installed (slurmctld slurmd slurm-client munge)"; exit 77; }
done
hosts=$1
shift
export MESHWISE_HOSTS=slurm.$$
trap '"$multinode" down' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"$multinode" up "$hosts"
"$multinode" exec 1 "$self" controller "$hosts"
for ((i = 1; i <= hosts; ++i)); do "$multinode" exec "$i" "$self" node "$i"; done
"$multinode" exec 1 "$self" ready "$hosts" "$@"
