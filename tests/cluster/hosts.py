"""Two hosts and a real Slurm on one machine: network namespaces with host names of their own, munge, slurmctld, two slurmd.

They share a kernel, a file system and the cores. Root and Linux; all that is started ends with this process.
"""

import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from sozo.data.processes import end_with_parent

PACKAGES = "slurm-wlm munge iproute2"
_TOOLS = ["ip", "unshare", "munged", "slurmctld", "slurmd", "sbatch"]
_NODES = (1, 2)
_CORES = len(os.sched_getaffinity(0))
# GPUs that no process opens, so that scripts which ask for eight find them.
_SLURM = """
ClusterName=sozo
SlurmctldHost=sozo0(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CryptoType=crypto/munge
SlurmctldPort=16817
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
GresTypes=gpu
NodeName=sozo1 NodeAddr=10.77.0.11 Port=16821 CPUs={cores} RealMemory=8000 Gres=gpu:8
NodeName=sozo2 NodeAddr=10.77.0.12 Port=16822 CPUs={cores} RealMemory=8000 Gres=gpu:8
PartitionName=low Nodes=sozo1,sozo2 Default=YES State=UP PriorityTier=1 GraceTime=60
PartitionName=high Nodes=sozo1,sozo2 State=UP PriorityTier=10 PreemptMode=OFF
"""


def lacking():
    """What this machine has not, in one line; None where the hosts can be started."""
    if os.name != "posix" or not Path("/proc/self/ns").is_dir():
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    if absent := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        return f"needs {', '.join(absent)}: apt-get install {PACKAGES}"
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True)
    return "may not make network namespaces here" if tried.returncode else None


def host(number):
    """The words that run a command as a host: in its network, by its name."""
    named = f'hostname sozo{number}; exec "$@"'
    own = ["ip", "netns", "exec", f"sozo{number}"] if number else []
    return [*own, "unshare", "--uts", "bash", "-c", named, "-"]


def pids(number):
    """The processes of a host."""
    said = subprocess.run(
        ["ip", "netns", "pids", f"sozo{number}"], capture_output=True, text=True
    )
    return list(map(int, said.stdout.split()))


@contextmanager
def cluster(folder):
    """Both hosts in a Slurm of their own, while the block lasts; their files are in `folder`."""
    with ExitStack() as stack:
        _remove()  # what a killed run has left
        stack.callback(_remove)
        _network()
        daemons = partial(_daemon, stack, folder)
        folder.chmod(0o755)
        for name in ("state", *(f"spool-sozo{number}" for number in _NODES)):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(secrets.token_bytes(1024))
        (folder / "munge.key").chmod(0o400)
        (folder / "slurm.conf").write_text(_SLURM.format(folder=folder, cores=_CORES))
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        for number in range(8):
            os.mknod(
                folder / f"gpu{number}", stat.S_IFCHR, os.makedev(1, 3)
            )  # a /dev/null
        (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-7]\n")
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        stack.callback(os.environ.pop, "SLURM_CONF")
        files = {"socket": "sock", "key-file": "key", "pid-file": "pid"}
        files |= {"log-file": "log", "seed-file": "seed"}
        options = [f"--{name}={folder}/munge.{end}" for name, end in files.items()]
        daemons("munged", "--force", "--foreground", *options)
        wait_until((folder / "munge.sock").exists, 20)
        daemons(*host(0), "slurmctld", "-D", "-f", folder / "slurm.conf")
        for number in _NODES:
            words = ["slurmd", "-D", "-N", f"sozo{number}", "-f", folder / "slurm.conf"]
            daemons(*host(number), *words)
        wait_until(lambda: set(slurm("sinfo", "-Nho", "%T").split()) == {"idle"}, 60)
        stack.callback(slurm, "scancel", "--user=root")
        yield


def slurm(*words):
    """What a command of Slurm says."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip()


def wait_until(what, seconds):
    """Its result, once it is true."""
    until = time.monotonic() + seconds
    while not (said := what()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.2)
    return said


def _daemon(stack, folder, *words):
    with (folder / "daemons.log").open("ab") as log:
        process = subprocess.Popen(
            list(map(str, words)),
            stdout=log,
            stderr=log,
            preexec_fn=partial(end_with_parent, signal.SIGTERM),
            start_new_session=True,
        )
    stack.callback(process.wait)
    stack.callback(process.terminate)


def _network():
    _ip("link add sozobr type bridge")
    _ip("addr add 10.77.0.1/24 dev sozobr")
    _ip("link set sozobr up")
    for number in _NODES:
        _ip(f"netns add sozo{number}")
        _ip(f"link add sozov{number} type veth peer name eth0 netns sozo{number}")
        _ip(f"link set sozov{number} master sozobr up")
        _ip(f"-n sozo{number} addr add 10.77.0.1{number}/24 dev eth0")
        _ip(f"-n sozo{number} link set eth0 up")
        _ip(f"-n sozo{number} link set lo up")
        _ip(f"-n sozo{number} route add default via 10.77.0.1")
        names = (
            "127.0.0.1 localhost\n10.77.0.1 sozo0\n10.77.0.11 sozo1\n10.77.0.12 sozo2\n"
        )
        hosts = Path(f"/etc/netns/sozo{number}/hosts")
        hosts.parent.mkdir(parents=True)
        hosts.write_text(names)


def _ip(words, check=True):
    subprocess.run(["ip", *words.split()], check=check, capture_output=not check)


def _main():
    """What is lacking, in one line; exit status 1 if anything is."""
    lacks = lacking()
    print(lacks or "nothing is lacking")
    return lacks is not None


def _remove():
    """The hosts, with every process in them."""
    for number in _NODES:
        for pid in pids(number):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _ip(f"link del sozov{number}", check=False)  # else it goes some time later
        _ip(f"netns del sozo{number}", check=False)
        shutil.rmtree(f"/etc/netns/sozo{number}", ignore_errors=True)
    with suppress(OSError):
        Path("/etc/netns").rmdir()
    _ip("link del sozobr", check=False)


if __name__ == "__main__":
    sys.exit(_main())
