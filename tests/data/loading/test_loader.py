import random
from collections import Counter
from itertools import chain, islice, product

import datasets
import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.loader import RaggedLoader


def make_dataset(number):
    """Document i has i as its first word."""
    generator = random.Random(number)
    rows = {"id": [], "words": [], "sentence_lengths": [], "labels": []}
    for i in range(number):
        lengths = [generator.randint(1, 4) for _ in range(generator.randint(1, 3))]
        rows["id"].append(f"id{i}")
        rows["words"].append([i] + [generator.randrange(1_000) for _ in range(sum(lengths) - 1)])
        rows["sentence_lengths"].append(lengths)
        rows["labels"].append([generator.randrange(50) for _ in range(generator.randint(0, 5))])
    lists = datasets.List(datasets.Value("int32"))
    features = {name: lists for name in rows} | {"id": datasets.Value("string")}
    return datasets.Dataset.from_dict(rows, datasets.Features(features))


DATASETS = {n: make_dataset(n) for n in (0, 1, 2, 3, 5, 9, 12, 13, 25, 50)}


def documents_of(batch):
    """The rows of a batch, cut out of the flat values in plain Python."""
    parts = batch["english"]._asdict()
    assert parts.pop("loss_weight") > 0 or not len(parts["rows"])
    assert len(parts.pop("rows")) == len(parts["label_counts"])
    values = {name: iter(part.tolist()) for name, part in parts.items() if part is not None}
    rows = []
    for sentences, labels in zip(values["document_lengths"], values["label_counts"], strict=True):
        lengths = list(islice(values["sentence_lengths"], sentences))
        words = list(islice(values["words"], sum(lengths)))
        rows.append((words, lengths, list(islice(values["label_ids"], labels))))
    assert not any(list(rest) for rest in values.values())
    return rows


def position(epoch, documents=0, cut=0):
    return {"epoch": epoch, "cut": cut, "documents": documents}


def numbers(batch):
    return [words[0] for words, _, _ in documents_of(batch)]


def loaders(documents, batch_size, world_size=1, **options):
    return [
        RaggedLoader(
            DATASETS[documents], "english", batch_size, rank=rank, world_size=world_size, **options
        )
        for rank in range(world_size)
    ]


def epochs(loader, number):
    return [[numbers(batch) for batch in loader] for _ in range(number)]


def joined(lists):
    return list(chain.from_iterable(lists))


@pytest.mark.parametrize(
    ("documents", "world_size", "shuffle"),
    [
        (documents, world_size, shuffle)
        for documents, world_size, shuffle in product(DATASETS, (1, 2, 3), (False, True))
        if documents >= world_size or not shuffle
    ],
)
@pytest.mark.parametrize("batch_size", [1, 2, 4, 100])
def test_every_document_once_in_equal_steps(documents, world_size, batch_size, shuffle):
    ranks = loaders(documents, batch_size, world_size, shuffle=shuffle)
    batches = [epochs(loader, 1)[0] for loader in ranks]
    assert {len(own) for own in batches} == {len(ranks[0])}
    read = [number for own in batches for batch in own for number in batch]
    assert sorted(read) == list(range(documents))
    sizes = {len(batch) for own in batches for batch in own}
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) > 0 or documents < world_size
    # one more than asked for only where a rank would get nothing in the last step
    assert max(sizes) <= max(batch_size, 2 if world_size > 1 else 1)


def test_one_process_reads_in_order_unless_shuffled():
    given = {"documents": DATASETS[9], "language": "english", "batch_size": 4}
    assert epochs(RaggedLoader(**given), 2) == [[[0, 1, 2], [3, 4, 5], [6, 7, 8]]] * 2
    shuffled = [np.random.default_rng((0, epoch)).permutation(9).tolist() for epoch in (0, 1)]
    assert list(map(joined, epochs(RaggedLoader(**given, shuffle=True), 2))) == shuffled


def test_a_single_document_is_read_in_every_epoch():
    (loader,) = loaders(1, 4)
    assert epochs(loader, 3) == [[[0]]] * 3


@pytest.mark.parametrize(("documents", "batch_size"), [(13, 4), (25, 8), (50, 6)])
def test_batches_hold_the_documents(documents, batch_size):
    (loader,) = loaders(documents, batch_size, shuffle=True)
    rows = DATASETS[documents].with_format(None)
    for batch in loader:
        for words, lengths, labels in documents_of(batch):
            row = rows[words[0]]
            assert (words, lengths, labels) == (
                row["words"],
                row["sentence_lengths"],
                row["labels"],
            )


def test_order_depends_on_seed_and_epoch_alone():
    (loader,) = loaders(50, 8, shuffle=True, seed=5)
    first, second, third = epochs(loader, 3)
    assert first != second
    assert second != third
    assert first != third
    for wider in loaders(50, 4, 2, shuffle=True, seed=5):
        list(wider)
        assert wider.order().tolist() == joined(second)
    (other,) = loaders(50, 8, shuffle=True, seed=6)
    assert epochs(other, 1)[0] not in (first, second, third)
    other.load_state_dict(position(2))
    other.seed = 5
    assert epochs(other, 1)[0] == third


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("documents", [12, 13, 25, 50])
def test_two_processes_make_the_batches_of_one_with_twice_the_size(documents, shuffle):
    (one,) = loaders(documents, 8, shuffle=shuffle)
    expected = epochs(one, 2)
    a, b = (epochs(loader, 2) for loader in loaders(documents, 4, 2, shuffle=shuffle))
    for epoch in range(2):
        both = [x + y for x, y in zip(a[epoch], b[epoch], strict=True)]
        assert both == expected[epoch]


@pytest.mark.parametrize("world_size", [1, 2])
@pytest.mark.parametrize("done", [1, 5, 6, 7, 8, 13, 14])
@pytest.mark.parametrize(
    ("documents", "length"), [(25, {}), (9, {"samples": 25}), (9, {"repeat": 25})], ids=str
)
def test_restored_loader_goes_on_exactly(documents, length, done, world_size):
    options = {"shuffle": True, "seed": 3} | length
    for rank in range(world_size):
        unbroken, broken, fresh = (
            loaders(documents, 4 // world_size, world_size, **options)[rank] for _ in range(3)
        )
        expected = joined(epochs(unbroken, 4))
        batches = (batch for _ in range(4) for batch in broken)
        before = [numbers(batch) for batch in islice(batches, done)]
        state = broken.state_dict()
        assert state == {"epoch": done // 7, "cut": 0, "documents": done % 7 * 25 // 7}
        fresh.load_state_dict(state)
        after = [numbers(batch) for _ in range(4 - done // 7) for batch in fresh]
        assert before + after == expected


@pytest.mark.parametrize("documents", [13, 25])
@pytest.mark.parametrize("before", [(4, 1), (4, 2), (2, 3)], ids=str)
@pytest.mark.parametrize("after", [(4, 1), (4, 2), (1, 3), (100, 2)], ids=str)
def test_another_number_of_processes_goes_on_with_the_next_document(documents, before, after):
    """Batch size and processes change within an epoch, twice: no document is doubled or dropped."""
    (alone,) = loaders(documents, 4, shuffle=True, seed=3)
    expected, following = (joined(epoch) for epoch in epochs(alone, 2))
    for done in range(1, len(loaders(documents, *before, shuffle=True)[0])):
        seen, state = [], position(0)
        for (batch_size, processes), steps in ((before, done), (after, 1), (before, None)):
            ranks = loaders(documents, batch_size, processes, shuffle=True, seed=3)
            if documents - state["documents"] < processes:
                with pytest.raises(InputError, match=r"left of the epoch, too few for"):
                    ranks[0].load_state_dict(state)
                break
            for loader in ranks:
                loader.load_state_dict(state)
            assert len({(len(loader), loader.done) for loader in ranks}) == 1
            left = len(ranks[0]) - ranks[0].done
            read = [[numbers(batch) for batch in islice(loader, steps)] for loader in ranks]
            assert {len(own) for own in read} == {min(left, steps or left)}
            for step in zip(*read, strict=True):
                assert max(map(len, step)) <= max(batch_size, 2)
                assert min(map(len, step)) > 0
                seen += joined(step)
            state, *others = (loader.state_dict() for loader in ranks)
            assert others == [state] * len(others)
            if state["epoch"]:
                assert [joined(x) for x in zip(*(epochs(y, 1)[0] for y in ranks), strict=True)]
                assert seen == expected
                for loader in ranks:
                    loader.load_state_dict(state)
                rest = zip(*(epochs(loader, 1)[0] for loader in ranks), strict=True)
                assert joined(chain.from_iterable(rest)) == following
                break


@pytest.mark.parametrize(
    ("processes", "done", "sizes", "following"),
    [
        (2, 10, [[3, 4], [4, 4]], 17),  # 15 documents are left, for steps of 8
        (1, 4, [[3, 4, 3, 4, 3, 4]], 7),  # 21 for steps of 4; 18 would begin with a step of 3
    ],
)
def test_what_was_cut_anew_is_resumed_exactly(processes, done, sizes, following):
    """Some of 25 documents are done in steps of another size."""
    left, broken = (loaders(25, 4, processes, shuffle=True, seed=3) for _ in range(2))
    for loader in left + broken:
        loader.load_state_dict(position(0, done))
    expected = [epochs(loader, 1)[0] for loader in left]
    assert [[len(batch) for batch in own] for own in expected] == sizes
    before = [[numbers(batch) for batch in islice(loader, 1)] for loader in broken]
    for rank, loader in enumerate(loaders(25, 4, processes, shuffle=True, seed=3)):
        state = broken[rank].state_dict()
        assert state == position(0, following, cut=done)
        loader.load_state_dict(state)
        assert before[rank] + epochs(loader, 1)[0] == expected[rank]


@pytest.mark.parametrize("documents", [5, 13, 25])
def test_shares_make_a_mean_of_means_that_of_all_documents(documents):
    ranks = loaders(documents, 2, 3, shuffle=True)
    for batches in zip(*ranks, strict=True):
        own = [np.square(numbers(batch)) for batch in batches]
        weighted = [
            batch["english"].loss_weight * x.mean() for batch, x in zip(batches, own, strict=True)
        ]
        assert np.mean(weighted) == pytest.approx(np.concatenate(own).mean(), rel=1e-12)


def test_iteration_broken_off_starts_again():
    """Lightning's sanity check reads the first validation batches only."""
    (loader,) = loaders(13, 4)
    next(iter(loader))
    assert joined(epochs(loader, 1)[0]) == list(range(13))


def test_epoch_is_set_without_losing_a_restored_position():
    (loader,) = loaders(25, 4, shuffle=True)
    unbroken = epochs(loader, 3)
    (other,) = loaders(25, 4, shuffle=True)
    other.load_state_dict(position(1, 17))
    other.sampler.set_epoch(1)
    assert epochs(other, 1)[0] == unbroken[1][5:]
    other.load_state_dict(position(0, 17))
    other.sampler.set_epoch(2)
    assert other.state_dict() == position(2)
    assert epochs(other, 1)[0] == unbroken[2]


def test_an_epoch_that_has_become_shorter_than_what_is_done():
    (loader,) = loaders(13, 4, shuffle=True)
    with pytest.raises(
        InputError, match=r"has 13 documents, and the run has done 17 .*train_share"
    ):
        loader.load_state_dict(position(0, 17))


def test_too_few_training_documents():
    with pytest.raises(InputError, match="2 training documents are too few for 3 processes"):
        RaggedLoader(DATASETS[2], "english", 4, shuffle=True, world_size=3)


# ---------------------------------------------------------------- epochs of another length


@pytest.mark.parametrize("samples", [3, 25, 100])
def test_samples_of_an_epoch(samples):
    (loader,) = loaders(9, 4, shuffle=True, samples=samples, seed=2)
    read = epochs(loader, 3)
    assert {len(joined(epoch)) for epoch in read} == {samples}
    assert {len(epoch) for epoch in read} == {len(loader)} == {-(-samples // 4)}
    assert {number for epoch in read for number in joined(epoch)} <= set(range(9))
    assert len({tuple(joined(epoch)) for epoch in read}) == 3
    (again,) = loaders(9, 4, shuffle=True, samples=samples, seed=2)
    assert epochs(again, 3) == read
    again.set_epoch(1)
    assert epochs(again, 1) == read[1:2]
    (other,) = loaders(9, 4, shuffle=True, samples=samples, seed=3)
    assert epochs(other, 3) != read


def test_samples_are_drawn_with_replacement_and_evenly():
    (loader,) = loaders(5, 100, shuffle=True, samples=10_000)
    counts = Counter(loader.order().tolist())
    # 2,000 draws of each are expected; the standard deviation is sqrt(10,000 * 0.2 * 0.8) = 40
    assert [abs(counts[i] - 2_000) < 160 for i in range(5)] == [True] * 5
    (few,) = loaders(50, 100, shuffle=True, samples=50)
    # 50 draws of 50 have (1 - 1 / 50) ** 50 = 36 % missing, so hardly ever none
    assert len(set(few.order().tolist())) < 50


@pytest.mark.parametrize("documents", [1, 3, 9, 25])
@pytest.mark.parametrize("repeat", [9, 25, 30])
def test_repeat_is_pass_after_pass(documents, repeat):
    (loader,) = loaders(documents, 4, shuffle=True, repeat=repeat, seed=4)
    for epoch in epochs(loader, 2):
        read = joined(epoch)
        assert len(read) == repeat
        passes = [read[i : i + documents] for i in range(0, repeat, documents)]
        for own in passes:
            assert len(set(own)) == len(own)
        for own in passes[:-1]:
            assert sorted(own) == list(range(documents))
        orders = {tuple(own) for own in passes[:-1]}
        assert len(orders) == len(passes) - 1 or documents <= 3  # of 3 there are 6 orders only
