#!/bin/bash
# A job of two nodes under Slurm; copy it and change the lines that begin with #SBATCH.
#
#   sbatch scripts/slurm_example.sh build/examples/digits [arguments]
#
#SBATCH --job-name=meshwise
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out
set -euo pipefail
program=${1:?"which program? sbatch scripts/slurm_example.sh PROGRAM [arguments]"}
shift

# One rank, one device, one thread, unless you say more: BLAS would start a thread for every core it sees.
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}
# Rank 0's MESHWISE_* settings govern on every node: export them here. A report instead of an endless wait:
export MESHWISE_TIMEOUT=${MESHWISE_TIMEOUT:-300}
# Where docker or libvirt have added networks, say which one carries messages (an interface or a subnet):
#   export OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0

# Open MPI 4.1 speaks PMIx with Slurm, not PMI-2. Without that plugin its own mpirun starts the ranks: it finds the nodes by itself.
if srun --mpi=list 2>&1 | grep -qw pmix; then
  exec srun --mpi=pmix "$program" "$@"
fi
exec mpirun --map-by "ppr:${SLURM_NTASKS_PER_NODE:-1}:node" "$program" "$@"
