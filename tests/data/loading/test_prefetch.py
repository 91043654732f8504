import gc
import threading
import weakref
from itertools import islice

import datasets
import pytest

from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.prefetch import PrefetchLoader
from gile_lightning.data.loading.side_by_side import SideBySide

LISTS = datasets.List(datasets.Value("int32"))
DOCUMENTS = datasets.Dataset.from_dict(
    {"words": [[i] for i in range(25)], "sentence_lengths": [[1]] * 25, "labels": [[0]] * 25},
    datasets.Features(dict.fromkeys(["words", "sentence_lengths", "labels"], LISTS)),
)


def numbered(batch, step):
    return step, {name: part.words.tolist() for name, part in batch.items()}


def threads():
    return [x for x in threading.enumerate() if x.name.startswith(("read_", "prepare_"))]


def make(prepare=numbered, languages=("english",), **options):
    loaders = {
        name: RaggedLoader(DOCUMENTS, name, 4, shuffle=True, seed=i, **options)
        for i, name in enumerate(languages)
    }
    inner = SideBySide(loaders) if len(loaders) > 1 else loaders[languages[0]]
    return inner, PrefetchLoader(inner, prepare)


@pytest.mark.parametrize("languages", [("english",), ("english", "german")])
def test_it_yields_the_prepared_batches_in_order(languages):
    plain, _ = make(languages=languages)
    _, loader = make(languages=languages)
    for epoch in range(2):
        plain.set_epoch(epoch)
        loader.set_epoch(epoch)
        expected = [numbered(batch, step) for step, batch in enumerate(plain)]
        assert list(loader) == expected
        assert len(loader) == len(expected) == 7


@pytest.mark.parametrize("taken", range(8))
@pytest.mark.parametrize("languages", [("english",), ("english", "german")])
def test_its_position_is_that_of_the_last_step_taken(languages, taken):
    plain, _ = make(languages=languages)
    _, loader = make(languages=languages)
    read, ahead = iter(plain), iter(loader)
    for _ in range(taken):
        next(read), next(ahead)
        assert loader.state_dict() == plain.state_dict()
    state = loader.state_dict()
    other, again = make(languages=languages)
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert again.done == taken % 7  # after the last step the next epoch begins
    epoch = taken // 7
    again.set_epoch(epoch)
    plain, _ = make(languages=languages)
    plain.set_epoch(epoch)
    expected = [numbered(batch, step) for step, batch in enumerate(plain)]
    assert list(again) == expected[taken % 7 :]
    assert other.state_dict() == again.state_dict()


def test_steps_are_prepared_while_the_one_before_runs():
    prepared, runs = threading.Semaphore(0), threading.current_thread()

    def prepare(batch, step):
        assert threading.current_thread() is not runs
        prepared.release()
        return step

    _, loader = make(prepare)
    for step in loader:
        # the next two come without being asked for
        for _ in range(3 if step == 0 else step < 5):
            assert prepared.acquire(timeout=60)
    assert not prepared.acquire(blocking=False)  # and none beyond the last


def test_two_steps_are_prepared_at_a_time():
    both = threading.Barrier(2, timeout=60)

    def prepare(batch, step):
        if step < 6:
            both.wait()
        return step

    _, loader = make(prepare)
    assert list(loader) == list(range(7))


def test_an_error_comes_at_its_step_and_the_thread_ends():
    def prepare(batch, step):
        if step == 3:
            raise ValueError("step 3")
        return step

    _, loader = make(prepare)
    taken = []
    with pytest.raises(ValueError, match="step 3"):
        taken.extend(loader)
    assert taken == [0, 1, 2]
    assert not threads()


def test_an_epoch_can_be_left():
    _, loader = make()
    steps = iter(loader)
    assert len(list(islice(steps, 3))) == 3
    steps.close()
    assert not threads()
    plain, _ = make()
    plain.set_epoch(1)
    loader.set_epoch(1)
    assert loader.state_dict() == plain.state_dict()
    assert [rows for _, rows in loader] == [numbered(batch, 0)[1] for batch in plain]


class Step:
    """What is prepared, and can be counted."""


def test_what_was_taken_is_kept_nowhere():
    alive = weakref.WeakSet()

    def prepare(batch, step):
        made = Step()
        alive.add(made)
        return made

    _, loader = make(prepare)
    steps = iter(loader)
    for taken in range(1, 8):
        next(steps)
        for thread in ("read", "prepare"):
            assert any(x.name.startswith(thread) for x in threads()) == (taken < 7)
        gc.collect()
        assert len(alive) <= min(2, 7 - taken)
