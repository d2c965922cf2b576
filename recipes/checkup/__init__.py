"""What `doctor.py` and `gpu_check.py` look at: packages, machine, network; and what a GPU measures."""
