import json

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.stix import find_bundles, plain_text, read_objects
from gile_testing.attack import bundle, technique

OLD = technique("T1", "Old Name", modified="2019-01-01T00:00:00.000Z")
NEW = OLD | {"name": "New Name", "modified": "2023-01-01T00:00:00.000Z"}
OTHER = technique("T2", "Other")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Cut.(Citation: A 2019) Off (Citation: B (C) 2020)(Citation: D)", "Cut. Off"),
        ("[Net](https://x.org/S39) and [At](https://x.org/a_(b)).", "Net and At."),
        ("A <code>net use</code>s<br>it<BR/>all<p>here</p>", "A net uses it all here"),
        ("C:\\Users\\<username>\\ &lt;path&gt;\\n, [random].dll (really)", None),
        ("x[.]com (its [key]) 1 < 2 > 0", None),
        (" \n two\tlines \n", "two lines"),
    ],
)
def test_plain_text(text, plain):
    same = text.replace("&lt;", "<").replace("&gt;", ">")
    assert plain_text(text) == (same if plain is None else plain)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_bundle(write, name):
    found = read_objects(find_bundles(write(name, bundle(OLD, OTHER))))
    assert [record.fields for record in found.values()] == [OLD, OTHER]
    assert all(name in record.where and i in record.where for i, record in found.items())


@pytest.mark.parametrize("first", [OLD, NEW])
def test_the_newest_version_of_an_object_counts(write, tmp_path, first):
    write("in/1.json", bundle(first, OTHER))
    write("in/2.json.gz", bundle(NEW if first is OLD else OLD))
    write("in/below/3.json", bundle(technique("T3", "Below")))
    write("in/readme.txt", "no bundle")
    found = read_objects(find_bundles(tmp_path / "in"))
    assert [record.fields for record in found.values()] == [NEW, OTHER]


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("x.json", "<stix:STIX_Package>", "x.json: not JSON"),
        ("x.json", b"\xff\xfe\x00", "x.json: not JSON"),
        ("x.json", "[" * 100_000, "x.json: not JSON"),
        ("x.json", "[]", "x.json: no STIX 2 bundle"),
        ("x.json", json.dumps(OLD), "x.json: no STIX 2 bundle"),
        ("x.json", '{"objects": [{}]}', "x.json: no STIX 2 bundle"),
        ("x.json", '{"type": "bundle"}', "x.json: a bundle without 'objects'"),
        ("x.json", bundle(), "x.json: a bundle without 'objects'"),
        ("x.json", '{"type": "bundle", "objects": {}}', "x.json: a bundle without 'objects'"),
        ("x.json", bundle(OLD, {"type": "tool"}), "x.json: object 2 has no 'type' and 'id'"),
        ("x.json", bundle(OLD, 5), "x.json: object 2 has no 'type' and 'id'"),
        ("x.txt", "", r"in: no \*.json or \*.json.gz there \(--data.path\)"),
    ],
)
def test_refused(write, tmp_path, name, content, error):
    write(f"in/{name}", content)
    with pytest.raises(InputError, match=error) as refused:
        read_objects(find_bundles(tmp_path / "in"))
    assert "\n" not in str(refused.value)


def test_refused_files(write, tmp_path):
    with pytest.raises(InputError, match=r"none: no such file or folder \(--data.path\)"):
        find_bundles(tmp_path / "none")
    whole = write("a.json.gz", bundle(OLD)).read_bytes()
    no_gzip = bundle(OLD).encode()
    for broken, error in ((whole[:-20], "truncated or damaged"), (no_gzip, "not a gzip file")):
        (tmp_path / "a.json.gz").write_bytes(broken)
        with pytest.raises(InputError, match=rf"a\.json\.gz: .*{error}"):
            read_objects([tmp_path / "a.json.gz"])
