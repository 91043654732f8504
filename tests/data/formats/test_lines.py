import bz2
import lzma
import zipfile

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.lines import find_files, read_lines, read_records
from gile_lightning.data.formats.skipped import Skipped

ROWS = [{"id": i, "text": f"text {i * 7919}"} for i in range(2_500)]


def fields(*paths, **options):
    return [record.fields for record in read_records(paths, Skipped(), **options)]


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.jsonl.gz", "a [v2]/b*?.jsonl", "a [v2]/b.jsonl.gz", ".hidden/a.json"]
)
def test_plain_and_gzipped_files_with_any_name(write, name):
    assert fields(write(name, ROWS)) == ROWS


@pytest.mark.parametrize(
    "content",
    [
        '{"articles":[\n{"a": "x]}"},\n{"a": 2}\n]}\n',
        '{"articles": [\n{"a": "x]}"},\n{"a": 2}]}\n',  # as the original ends
        '{"articles":[\n{"a": "x]}"},\n{"a": 2},]}',
        '{"articles":[{"a": "x]}"},\n{"a": 2}\n]}',
        '[\n{"a": "x]}"},\n{"a": 2}\n]',
        '[{"a": "x]}"},\n{"a": 2}]',
        '[{"a": "x]}"}\n,{"a": 2}\n]',
        '{"articles":\n[\n{"a": "x]}"},\n{"a": 2}\n]}',
        '\ufeff{"articles":[\r\n{"a": "x]}"} ,\r\n {"a": 2}\r\n]}\r\n',
    ],
)
def test_bioasq_wrapper(write, content):
    skipped = Skipped()
    found = [r.fields for r in read_records([write("a.json", content)], skipped)]
    assert found == [{"a": "x]}"}, {"a": 2}]
    assert not skipped.counts


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
def test_only_line_feeds_end_lines(write, sign):
    path = write("a.jsonl", [{"text": f"one{sign}two"}, {"text": "three"}])
    assert sign.encode() in path.read_bytes()  # unescaped
    assert fields(path) == [{"text": f"one{sign}two"}, {"text": "three"}]
    assert [number for number, _ in read_lines(path)] == [1, 2]


def test_half_a_character_becomes_a_question_mark(write):
    text = r'{"cut \ud83d": "off \uDE00", "whole": "\ud83d\ude00", "path": "C:\\ud83d"}'
    (found,) = fields(write("a.jsonl", text))
    assert found == {"cut ?": "off ?", "whole": "😀", "path": r"C:\ud83d"}


def test_broken_lines_are_counted_up_to_a_limit(write):
    lines = ['{"a": 1}', "{broken", '{"a": 2}', "[1, 2]", "{broken]}", "5]}", '{"a": 5}']
    path = write("a.jsonl", "\n".join(lines))
    skipped = Skipped()
    found = [r.fields for r in read_records([path], skipped, max_broken=4)]
    assert found == [{"a": 1}, {"a": 2}, {"a": 5}]
    assert skipped.state() == {"broken JSON line": {"count": 4, "first": f"{path}:2"}}
    with pytest.raises(InputError) as error:
        fields(path, max_broken=3)
    assert str(error.value).startswith(f"{path}:6: 4 lines are not JSON objects (first: {path}:2)")
    assert "max_broken_lines = 3" in str(error.value)


@pytest.mark.parametrize("content", ["", "\n\n", '{"articles":[\n]}\n', "{broken\n"])
def test_file_without_records(write, content):
    path = write("a.jsonl", content)
    with pytest.raises(InputError, match=f"{path}: no JSON object"):
        fields(write("b.jsonl", ROWS[:1]), path)


@pytest.mark.parametrize(
    "content", ['[{"a": 1}, {"a": 2}]', '[{"a": 1},{"a": 2}]\n', '[\n  {\n    "a": 1\n  }\n]\n']
)
def test_a_list_with_other_lines_than_an_object_each(write, content):
    file = write("a.json", content)
    with pytest.raises(InputError) as caught:
        fields(file)
    says = f"{file}: a JSON list; expected one object per line, as jq -c '.[]' writes them"
    assert str(caught.value) == says
    with pytest.raises(InputError, match="a JSON list"):
        fields(file, max_broken=0)


def test_a_list_with_a_broken_line(write):
    skipped = Skipped()
    file = write("a.json", '[\n{"a": oops},\n{"a": 1}\n]\n')
    assert [record.fields for record in read_records([file], skipped)] == [{"a": 1}]
    assert skipped.counts == {"broken JSON line": 1}


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl: no such file"):
        fields(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="no such file"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize("cut", [4, 8, 500])
def test_truncated_gzip(write, cut):
    path = write("a.jsonl.gz", ROWS)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(InputError, match=f"{path}: truncated or damaged"):
        fields(path)


@pytest.mark.parametrize(("name", "compress"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_other_damaged_archives(tmp_path, name, compress):
    lines = "".join(f'{{"text": "word {i * i}"}}\n' for i in range(2_000))
    data = bytearray(compress(lines.encode()))
    path = tmp_path / f"a.jsonl.{name}"
    path.write_bytes(data)
    assert len(list(read_lines(path))) == 2_000
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"{path}: .*damaged after about line"):
        list(read_lines(path))


@pytest.mark.parametrize("place", [-6, -1_000])  # the checksum, the compressed data
def test_damaged_gzip(write, place):
    path = write("a.jsonl.gz", ROWS)
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"{path}: truncated or damaged"):
        fields(path)


def test_a_chain_of_file_systems(write, tmp_path, monkeypatch):
    (tmp_path / "a::b").mkdir()
    path = write("a::b/a.jsonl", ROWS)
    with pytest.raises(InputError, match=f"{path}: '::' stands for a chain of file systems; re"):
        fields(path)
    monkeypatch.chdir(tmp_path / "a::b")
    with pytest.raises(InputError, match=r"^a\.jsonl: '::' stands for"):
        fields("a.jsonl")


def test_what_a_zip_file_unfolds_to_is_bounded_over_all_its_files(tmp_path):
    path = tmp_path / "a.JSONL.ZIP"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in "abc":
            archive.writestr(f"{name}.jsonl", b"{}\n" * 2**20)
    with pytest.raises(InputError, match=f"{path}: .* 8,388,608 characters, over 100 .* unfold it"):
        list(read_lines(path))


@pytest.mark.parametrize(("ending", "pack"), [(".bz2", bz2.compress), (".xz", lzma.compress)])
def test_archives_that_pack_better_may_unfold_to_more(write, ending, pack):
    path = write(f"a.jsonl{ending}", pack(b'{"text": "always the same"}\n' * 400_000))
    assert sum(1 for _ in read_lines(path)) == 400_000


def test_a_spreadsheet(write):
    path = write("a.xlsx", b"PK\x03\x04")
    with pytest.raises(InputError, match=f"{path}: a spreadsheet; save it as CSV in UTF-8"):
        fields(path)


def test_a_parquet_file(write):
    with pytest.raises(InputError, match=r"a\.parquet: a Parquet file; save it as a dataset"):
        fields(write("a.parquet", b"PAR1"))


def test_not_gzip_though_named_so(write):
    path = write("a.jsonl", ROWS[:2]).rename(write("b.jsonl.gz", ""))
    with pytest.raises(InputError, match=f"{path}: not a gzip file; rename it without .gz"):
        fields(path)


def test_encodings(write):
    path = write("a.jsonl", '{"a": "café"}\n'.encode("latin-1"))
    far = write("far.jsonl", b'{"a": "b"}\n' * 1_400 + '{"a": "café"}\n'.encode("latin-1") * 9)
    with pytest.raises(InputError, match=r"far\.jsonl: not utf-8 text near line 1,401 .* as UTF-8"):
        fields(far)
    with pytest.raises(InputError, match=f"{path}: not utf-8 text near line 1"):
        fields(path)
    assert fields(path, encoding="latin-1") == [{"a": "café"}]
    with pytest.raises(InputError, match="'utf-99' is no text encoding"):
        fields(path, encoding="utf-99")
    with pytest.raises(InputError, match="'rot13' is no text encoding"):
        fields(path, encoding="rot13")
    with pytest.raises(InputError, match=r"not utf-16 text near line 1 .*BOM.*; save it as UTF-8"):
        fields(write("b.jsonl", b'{"a": "b"}\n'), encoding="utf-16")


def test_find_files(write, tmp_path):
    files = [write(name, "") for name in ("a/1.jsonl", "a/2.jsonl", "b/c/1.jsonl", "a [1].jsonl")]
    assert find_files(str(files[0])) == [files[0]]
    assert find_files(str(files[3])) == [files[3]]
    assert find_files(f"{tmp_path}/a/*.jsonl") == files[:2]
    assert find_files(f"{tmp_path}/**/1.jsonl") == [files[0], files[2]]
    assert find_files(f"{tmp_path}/a") == find_files(f"{tmp_path}/none") == []
    with pytest.raises(InputError, match="no file matches"):
        find_files(f"{tmp_path}/*.json")


def test_a_record_of_articles_after_the_first_line_is_one(write):
    rows = [{"a": 1}, {"articles": [1, 2]}]
    assert fields(write("a.jsonl", rows)) == rows


def test_a_hundred_broken_lines_are_passed_over_by_default(write):
    broken = ["{"] * 100
    path = write("a.jsonl", "\n".join([*broken, '{"a": 1}']))
    assert fields(path) == [{"a": 1}]
    with pytest.raises(InputError, match="101"):
        fields(write("b.jsonl", "\n".join([*broken, "{", '{"a": 1}'])))
