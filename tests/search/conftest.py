"""Storages of every kind."""

import pytest

from gile_testing.postgresql import server


@pytest.fixture(scope="session")
def postgresql():
    """The URL of a database on a PostgreSQL server of this test run's own, on loopback."""
    with server() as started:
        yield started.url


@pytest.fixture
def database(postgresql, tmp_path):
    """The URL of an empty database there."""
    import psycopg

    connection = psycopg.connect(postgresql, autocommit=True)
    name = f"d{abs(hash(str(tmp_path)))}"
    connection.execute(f"create database {name}")
    connection.close()
    return f"{postgresql.rpartition('/')[0]}/{name}"
