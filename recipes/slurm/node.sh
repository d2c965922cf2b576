#!/bin/bash
# What srun starts on each node; several-nodes.sbatch and study.sbatch say MASTER and the words.
exec accelerate launch --num_machines "$SLURM_NNODES" --machine_rank "$SLURM_NODEID" \
    --main_process_ip "$MASTER" --main_process_port 29500 "$@"
