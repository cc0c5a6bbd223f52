"""Several hosts on this machine: namespaces for network, processes, memory and names, joined by a bridge. Ranks of
different ones reach each other by TCP only, as on a cluster with Ethernet. Needs root, iproute2 and MPICH's launcher."""

import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from program_runner import HANG_S, MPIEXEC, PROGRAM, executable, run_command, start

LAUNCH = """#!/bin/sh
# As ssh: launch [-x] ADDRESS COMMAND...
while [ "${1#-}" != "$1" ]; do shift; done
host=${1##*.}; shift
exec ip netns exec NAME-$host unshare --uts --mount --ipc --pid --fork --mount-proc --kill-child \\
  sh -c "hostname pretended$host; mount -t tmpfs tmpfs /dev/shm; $*"
"""


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def why_not():
    """Why hosts cannot be pretended here; empty where they can."""
    if os.geteuid() != 0:
        return "not root"
    if not all(map(shutil.which, ("ip", "unshare", "hostname"))):
        return "no ip, unshare or hostname"
    version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True).stdout
    if "HYDRA" not in version:
        return f"{MPIEXEC} is not MPICH's"
    try:
        with PretendedHosts(1):
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no network namespaces: {error}"


class PretendedHosts:
    """A context; afterwards nothing is left of the hosts. The system removes devices later than it says, so each has names of
    its own."""

    _numbers = itertools.count()

    def __init__(self, host_count):
        self._hosts = range(1, host_count + 1)
        number = next(self._numbers)
        self._name = f"cg{os.getpid() % 100000}{chr(ord('a') + number % 26)}"
        self._network = f"10.{200 + os.getpid() % 50}.{(os.getpid() // 50 + number) % 250}"

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        try:
            ip("link", "add", self._name, "type", "bridge")
            ip("addr", "add", f"{self._network}.254/24", "dev", self._name)
            ip("link", "set", self._name, "up")
            for host in self._hosts:
                self._add(host)
        except Exception:
            self.__exit__()
            raise
        self._launch = executable(pathlib.Path(self._folder.name) / "launch", LAUNCH.replace("NAME", self._name))
        return self

    def _add(self, host):
        space = f"{self._name}-{host}"
        ip("netns", "add", space)
        ip("link", "add", f"{self._name}v{host}", "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("link", "set", f"{self._name}v{host}", "master", self._name, "up")
        ip("-n", space, "addr", "add", f"{self._network}.{host}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", space, "link", "set", device, "up")

    def __exit__(self, *_):
        for host in self._hosts:
            self.kill(host)
            subprocess.run(["ip", "netns", "del", f"{self._name}-{host}"], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", self._name], stderr=subprocess.DEVNULL)
        self._folder.cleanup()

    def processes(self, host):
        command = ["ip", "netns", "pids", f"{self._name}-{host}"]
        return [int(word) for word in subprocess.run(command, capture_output=True, text=True).stdout.split()]

    def kill(self, host):
        """As if its power failed."""
        for process in self.processes(host):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _command(self, ranks_per_host, arguments):
        hosts = ",".join(f"{self._network}.{host}:{ranks_per_host}" for host in self._hosts)
        return [MPIEXEC, "-launcher", "ssh", "-launcher-exec", str(self._launch), "-localhost", f"{self._network}.254",
                "-hosts", hosts, "-n", str(ranks_per_host * len(self._hosts)), PROGRAM, *map(str, arguments)]

    def run(self, ranks_per_host, *arguments, timeout_s=HANG_S):
        return run_command(self._command(ranks_per_host, arguments), timeout_s=timeout_s)

    def start(self, ranks_per_host, *arguments):
        return start(self._command(ranks_per_host, arguments), stdout=subprocess.DEVNULL)
