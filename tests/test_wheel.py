"""What `pip install` of a wheel gives, in a folder that holds nothing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FILES = ("LICENSE", "README.md", "pyproject.toml")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the wheel from a copy, without a network, and install it alone into a folder."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("gile_lightning", "sweeps"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=skipped)
    for name in FILES:
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-index", "--quiet"]
    build = [*pip, "wheel", *alone, "--no-build-isolation", "--wheel-dir", folder, source]
    subprocess.run(build, check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", *alone, "--target", folder / "site", wheel], check=True)
    return folder / "site"


@pytest.fixture
def command(site, tmp_path):
    def run(name, *args):
        done = subprocess.run(
            [sys.executable, "-m", f"gile_lightning.{name}", *args],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_other_packages_can_stand_beside_it(site):
    """Its metadata name ranges: an exact version would be in the way of another package's."""
    (metadata,) = site.glob("gile_lightning-*.dist-info/METADATA")
    needed = re.findall(r"^Requires-Dist: (.*)", metadata.read_text(), re.M)
    assert "torch>=2.11" in needed
    assert not [line for line in needed if "==" in line.partition(";")[0]]


def test_every_configuration_is_in_it(site):
    def configurations(folder):
        return {path.relative_to(folder): path.read_text() for path in folder.rglob("*.yaml")}

    assert configurations(site / "gile_lightning/sweeps") == configurations(ROOT / "sweeps")


def test_the_sentences_of_attack_are_in_it_with_their_licence(site):
    own = ROOT / "gile_lightning/builtin/attack"
    files = {path.name: path.read_bytes() for path in own.iterdir()}
    assert {"LICENSE.txt", "enterprise-attack-before-2023.json.gz"} == files.keys()
    folder = site / "gile_lightning/builtin/attack"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files


def test_a_configuration_is_found_by_its_name(command):
    def joint_dim(text):
        model = yaml.safe_load(text)["model"]
        return model.get("init_args", model)["output"]["init_args"]["joint_dim"]

    printed = command("fit", "--config", "bioasq", "--print_config")
    assert joint_dim(printed) == joint_dim((ROOT / "sweeps/bioasq.yaml").read_text())


def test_a_table_is_found_by_its_number(command, site):
    printed = command("reproduce", "--table", "2", "--rows", "GILE-WAN", "--dry_run")
    (config,) = set(re.findall(r"--config (\S+)", printed))
    assert Path(config).is_relative_to(site)
    assert Path(config).is_file()
