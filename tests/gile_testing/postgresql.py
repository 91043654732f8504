"""A PostgreSQL server of this test run's own, which can be stopped and started."""

import contextlib
import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Server:
    """A server in a temporary folder.

    Attributes:
        url: of an empty database.
    """

    def __init__(
        self, programs: Path, place: Path, address: str, port: int, account: dict[str, Any]
    ) -> None:
        self.programs, self.place, self.account = programs, place, account
        self.url = f"postgresql://me:secret@{address}:{port}/postgres"
        self._options = f"-p {port} -c listen_addresses={address} -k {place} -c fsync=off"
        self.run("initdb", "--auth=trust", "--username=me", "--no-sync")
        with (place / "data/pg_hba.conf").open("a") as file:
            file.write("host all all samenet trust\n")

    def run(self, program: str, *args: str) -> None:
        """Run a program of PostgreSQL on the folder, as a user that it accepts."""
        command = [str(self.programs / program), "-D", str(self.place / "data"), *args]
        subprocess.run(
            command, check=True, cwd=self.place, stdout=subprocess.DEVNULL, **self.account
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.run("pg_ctl", "start", "-w", "-l", str(self.place / "log"), "-o", self._options)

    def stop(self) -> None:
        """Cut all connections, as if the machine had lost its power; do nothing if it is away."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.run("pg_ctl", "stop", "-w", "-m", "immediate")


@contextlib.contextmanager
def server(address: str = "127.0.0.1") -> Iterator[Server]:
    """Start a server, which is gone in the end; skip the test where there is no PostgreSQL.

    Args:
        address: one of this machine's; the networks that it is in may connect.
    """
    found = shutil.which("initdb") or next(iter(glob.glob("/usr/lib/postgresql/*/bin/initdb")), "")
    if not found:
        pytest.skip("no PostgreSQL server installed")
    pytest.importorskip("psycopg")
    # not in TMPDIR: every account may go there, and paths of sockets have to be short
    place = Path(tempfile.mkdtemp(prefix="gile-lightning-postgresql-", dir="/tmp"))
    account: dict[str, Any] = {}
    if os.geteuid() == 0:  # which the server refuses to be
        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            place.rmdir()
            pytest.skip("PostgreSQL runs neither as root nor is there a user postgres")
        os.chown(place, owner.pw_uid, owner.pw_gid)
        account = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    with socket.socket() as free:
        free.bind((address, 0))
        port = free.getsockname()[1]
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        made = Server(Path(found).resolve().parent, place, address, port, account)
        made.start()
        stack.callback(made.stop)
        yield made
