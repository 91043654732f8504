import json
from collections import Counter
from itertools import chain, islice
from types import SimpleNamespace

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import Columns, Corpus, Multilingual
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.one_by_one import OneByOne
from gile_lightning.data.loading.side_by_side import SideBySide
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.corpora import ready

SIZES = {  # documents by split; a document is known by its number of words
    "english": {"train": 25, "validation": 7, "test": 11},
    "german": {"train": 9, "validation": 3, "test": 2},
    "french": {"train": 4, "validation": 1, "test": 5},
}
OPTIONS = {"columns": Columns(split="split"), "min_count": 1, "batch_size": 4, "eval_batch_size": 3}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The corpora of three languages; document i has i + 1 words."""
    folder = tmp_path_factory.mktemp("languages")
    for name, sizes in SIZES.items():
        rows = [
            {
                "id": f"{split}{i}",
                "text": f"{name} " * (i + 1),
                "labels": [f"{name}"],
                "split": split,
            }
            for split, size in sizes.items()
            for i in range(size)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="session")
def make(folder):
    """Makes and encodes the languages; options are all languages' or, by name, one's own."""
    made = {}

    def make(*names, seed=None, rank=0, world_size=1, **options):
        key = repr((names, seed, options))
        if key not in made:
            own = {name: options.pop(name) for name in SIZES if name in options}
            made[key] = Multilingual(
                {
                    name: Corpus(
                        str(folder / f"{name.partition('-')[0]}.jsonl"),
                        cache_dir=folder / "cache",
                        **(OPTIONS | options | own.get(name, {})),
                    )
                    for name in names or SIZES
                },
                seed,
            )
            made[key].prepare_data()
            made[key].setup()
        made[key].trainer = SimpleNamespace(global_rank=rank, world_size=world_size)
        return made[key]

    return make


def position(epoch, steps):
    """Where a loader is after some of the 7 steps of an epoch of 25 documents."""
    return {"epoch": epoch, "cut": 0, "documents": steps * 25 // 7}


def numbers(step):
    """The documents of a step, by language."""
    found = {}
    for name, batch in step.items():
        lengths = iter(batch.sentence_lengths.tolist())
        sentences = [list(islice(lengths, n)) for n in batch.document_lengths.tolist()]
        found[name] = [sum(own) - 1 for own in sentences]
    return found


def epoch_of(loader):
    return [numbers(step) for step in loader]


def read(steps, name):
    return list(chain.from_iterable(step.get(name, []) for step in steps))


# ---------------------------------------------------------------- the module


def test_languages(make):
    data = make()
    assert data.names == list(data.tasks) == list(SIZES)
    assert not data.builtin
    for name, task in data.tasks.items():
        assert task.tokenizer.vocabulary == [name, "UNK"]
        assert task.labels.names == [name]
        assert data.meta["counts"][name]["documents"] == SIZES[name]
        assert data.only(name) is data.modules[name]
        assert data.only(name).names == [name]
        assert data.vectors(name) is None
    assert set(data.meta) == {"counts", "skipped", "sources"}
    folders = list(data.shards())
    assert [(path / "meta.json").is_file() for path in folders] == [True] * 3
    assert len(set(folders)) == 3


def test_no_language():
    with pytest.raises(InputError, match="needs a language at least"):
        Multilingual({})


TRAINED = {
    name: Task(Tokenizer(["word", name, "UNK"]), LabelSet(["old"], ["old"], [3])) for name in SIZES
}


def test_trained_model_is_scored(make, folder):
    data = make()
    scored = Multilingual(
        {
            name: Corpus(part.path, cache_dir=folder / "cache", **OPTIONS)
            for name, part in data.modules.items()
        }
    )
    scored.encode_for_scoring(TRAINED)
    ready(scored)
    for name, task in scored.tasks.items():
        assert task.tokenizer == TRAINED[name].tokenizer
        assert task.labels.names == ["old", name]
        assert scored.meta["counts"][name]["documents"] == {"test": SIZES[name]["test"]}
    steps = epoch_of(scored.test_dataloader())
    assert [len(read(steps, name)) for name in SIZES] == [11, 2, 5]


@pytest.mark.parametrize("method", ["encode_for_scoring", "encode_for_training"])
def test_model_lacks_a_language(folder, method):
    data = Multilingual({name: Corpus(str(folder / f"{name}.jsonl")) for name in SIZES})
    with pytest.raises(InputError, match="the model knows english, german, not french"):
        getattr(data, method)({name: TRAINED[name] for name in ("english", "german")})


# ---------------------------------------------------------------- training


def test_batches_of_all_languages_grow(make):
    data = make(german={"batch_size": 2}, seed=77)
    before = {name: data.modules[name].batch_size for name in SIZES}
    assert len(set(before.values())) == 2
    assert data.enlarge_batches(4) == 4 * max(before.values())
    assert {name: data.modules[name].batch_size // 4 for name in SIZES} == before


def test_training_size_is_that_of_the_largest_language(make):
    assert make().training_size() == max(sizes["train"] for sizes in SIZES.values())


def test_epoch_is_a_pass_over_the_longest_while_others_begin_anew(make):
    loader = make().train_dataloader()
    orders = {name: set() for name in SIZES}
    for _ in range(3):
        steps = epoch_of(loader)
        for name, sizes in SIZES.items():
            documents = read(steps, name)
            size = sizes["train"]
            assert len(documents) == 25
            passes = [documents[i : i + size] for i in range(0, 25, size)]
            assert [sorted(own) for own in passes[:-1]] == [list(range(size))] * (len(passes) - 1)
            counts = Counter(documents)
            assert set(counts) == set(range(size))
            assert max(counts.values()) - min(counts.values()) <= 1
            orders[name].add(tuple(documents))
    assert {name: len(found) for name, found in orders.items()} == dict.fromkeys(SIZES, 3)


@pytest.mark.parametrize("seed", [None, 7])
def test_languages_have_orders_of_their_own(make, seed):
    def order(data, name):
        return read(epoch_of(data.train_dataloader()), name)

    data = make("english", "english-too", seed=seed)
    assert order(data, "english") != order(data, "english-too")
    again = make("english", "english-too", seed=seed)
    assert order(again, "english-too") == order(data, "english-too")
    other = make("english", "english-too", seed=8)
    assert order(other, "english") != order(data, "english")


# ---------------------------------------------------------------- resume


@pytest.mark.parametrize("world_size", [1, 2])
@pytest.mark.parametrize("options", [{}, {"samples_per_epoch": 25}], ids=str)
@pytest.mark.parametrize("done", [1, 6, 7, 13])
def test_restored_loader_goes_on_exactly(make, done, options, world_size):
    options |= {"batch_size": 4 // world_size, "world_size": world_size, "rank": world_size - 1}
    unbroken, broken, fresh = (
        make("german", "english", **options).train_dataloader() for _ in range(3)
    )
    expected = [step for _ in range(3) for step in epoch_of(unbroken)]
    assert len(expected) == 21
    steps = (step for _ in range(3) for step in broken)
    before = [numbers(step) for step in islice(steps, done)]
    state = broken.state_dict()
    assert state == dict.fromkeys(unbroken.loaders, position(done // 7, done % 7))
    fresh.load_state_dict(json.loads(json.dumps(state)))
    assert fresh.state_dict() == state
    fresh.sampler.set_epoch(done // 7)  # as Lightning does at the start of an epoch
    after = [step for _ in range(3 - done // 7) for step in epoch_of(fresh)]
    assert before + after == expected


def test_epoch_is_set_in_every_language(make):
    loader = make().train_dataloader()
    next(iter(loader))
    loader.set_epoch(2)
    assert loader.state_dict() == dict.fromkeys(SIZES, position(2, 0))


# ---------------------------------------------------------------- evaluation


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_evaluation_visits_every_document_once(make, split, world_size):
    method = {"validation": "val_dataloader", "test": "test_dataloader"}[split]
    found = []
    steps = set()
    for rank in range(world_size):
        loader = getattr(make(rank=rank, world_size=world_size), method)()
        own = epoch_of(loader)
        assert epoch_of(loader) == own
        assert all(len(step) == 1 for step in own)
        assert [next(iter(step)) for step in own] == sorted(
            [next(iter(step)) for step in own], key=list(SIZES).index
        )
        steps |= {len(own), len(loader)}
        found += own
    assert len(steps) == 1
    for name, sizes in SIZES.items():
        assert sorted(read(found, name)) == list(range(sizes[split]))


# ---------------------------------------------------------------- the loaders alone


def test_side_by_side_of_unlike_loaders(make):
    parts = make().modules
    loaders = {
        name: RaggedLoader(part.split("train"), name, 4, shuffle=True)
        for name, part in parts.items()
    }
    message = r"number of steps \({'english': 7, 'german': 3, 'french': 1}\)"
    with pytest.raises(InputError, match=message):
        SideBySide(loaders)
    assert len(OneByOne(loaders)) == 11


def test_each_language_is_read_by_its_own_rules(folder, tmp_path):
    """The modules themselves need not say which language they are."""
    corpora = {
        name: Corpus(str(folder / f"{name}.jsonl"), cache_dir=tmp_path, **OPTIONS)
        for name in ("french", "german")
    }
    found = {name: task.tokenizer for name, task in ready(Multilingual(corpora)).tasks.items()}
    assert [found[name].language for name in corpora] == ["french", "german"]
    assert [found[name].elision for name in corpora] == [True, False]
