"""Storages of every kind."""

import contextlib
import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def postgresql():
    """The URL of a database on a PostgreSQL server of this test run's own, on loopback."""
    found = shutil.which("initdb") or next(iter(glob.glob("/usr/lib/postgresql/*/bin/initdb")), "")
    if not found:
        pytest.skip("no PostgreSQL server installed")
    pytest.importorskip("psycopg")
    programs = Path(found).resolve().parent
    place = Path(tempfile.mkdtemp(prefix="gile-lightning-postgresql-"))
    account: dict[str, Any] = {}
    if os.geteuid() == 0:  # which the server refuses to be
        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL runs neither as root nor is there a user postgres")
        os.chown(place, owner.pw_uid, owner.pw_gid)
        account = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(program, *args):
        command = [str(programs / program), "-D", str(place / "data"), *args]
        subprocess.run(command, check=True, cwd=place, stdout=subprocess.DEVNULL, **account)

    try:
        run("initdb", "--auth=trust", "--username=me", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {place} -c fsync=off"
        run("pg_ctl", "start", "-w", "-l", str(place / "log"), "-o", options)
        yield f"postgresql://me:secret@127.0.0.1:{port}/postgres"
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            run("pg_ctl", "stop", "-m", "immediate")
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def database(postgresql, tmp_path):
    """The URL of an empty database there."""
    import psycopg

    connection = psycopg.connect(postgresql, autocommit=True)
    name = f"d{abs(hash(str(tmp_path)))}"
    connection.execute(f"create database {name}")
    connection.close()
    return f"{postgresql.rpartition('/')[0]}/{name}"
