"""Each script needs an environment of its own (tox), so none is collected here."""

collect_ignore_glob = ["*.py"]
