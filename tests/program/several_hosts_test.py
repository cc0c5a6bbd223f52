"""Runs over several hosts, which are pretended on this machine. Skipped, with the reason, where that cannot be done."""

import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from program_runner import (
    CLASS_S_ZETA, HANG_S, MPIEXEC, PROGRAM, SUCCESS, VERIFICATION_FAILED, ProgramTest, comes_true, executable, kill_all, run_command, start,
)  # fmt: skip

SKIPPED = 77  # told to CTest in program_tests.cmake
TRANSPORTS = ("two-sided", "native", "put", "shared")
# Runs take one or two seconds, and more on a machine that is busy. A hang lasts for ever.
LIMIT_S = 60.0

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
    """Namespaces for network, processes, memory and names, joined by a bridge: ranks of different ones reach each other by TCP
    only, as on a cluster with Ethernet. Needs root, iproute2 and MPICH's launcher. A context; afterwards nothing is left of the
    hosts. The system removes devices later than it says, so each has names of its own."""

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


class SeveralHosts(ProgramTest):
    def run_class_s(self, hosts, ranks_per_host, *arguments):
        return hosts.run(ranks_per_host, "run", "--class", "S", "--no-profile", "--format", "json", *arguments, timeout_s=LIMIT_S)

    def test_every_transport_ends_well_on_two_hosts(self):
        with PretendedHosts(2) as hosts:
            for transport in TRANSPORTS:
                outcome = self.ends_with(SUCCESS, self.run_class_s(hosts, 2, "--grid", "2x2", "--transport", transport))
                self.assert_close(outcome.document()["result"]["zeta"], CLASS_S_ZETA[-1], 1e-12)
                self.assertEqual(len(outcome.document()["environment"]["nodes"]), 2)

    def test_more_ranks_than_cores_that_no_host_knows_of(self):
        """This hung after its result in three of three runs (MPICH 4.0.2)."""
        with PretendedHosts(3) as hosts:
            self.ends_with(SUCCESS, self.run_class_s(hosts, 2, "--grid", "2x3"))

    def test_the_code_comes_from_all_hosts(self):
        with PretendedHosts(2) as hosts:
            self.ends_with(VERIFICATION_FAILED, self.run_class_s(hosts, 1, "--reference", "17"))

    def test_a_host_that_fails_ends_the_run(self):
        with PretendedHosts(2) as hosts:
            run = hosts.start(2, "run", "--class", "A", "--niter", "1000000", "--reference", "17", "--no-profile", "--progress")
            try:
                for line in run.stderr:
                    if "outer iteration 2/" in line:
                        break
                hosts.kill(2)
                run.communicate(timeout=LIMIT_S)
                self.assertNotEqual(run.returncode, SUCCESS)
                comes_true(lambda: not hosts.processes(1), 10.0)  # killed ones take a moment to go
                self.assertEqual(hosts.processes(1), [])
            except subprocess.TimeoutExpired:
                self.fail("hangs after a host has failed")
            finally:
                kill_all(run)
                run.wait()


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"skipped: no hosts can be pretended: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
