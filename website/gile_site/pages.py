"""The pages that are written when the site is built."""

import re
from collections.abc import Iterable, Iterator

from gile_lightning.commands.cli import GileCLI
from gile_lightning.search.setting import Setting
from gile_lightning.training.length import TrainingLength
from gile_site.classes import Key, introduction, keys_of
from gile_site.configuration import (
    ROOT,
    Entry,
    entries,
    linked,
    run_keys,
    show,
)
from gile_site.sections import PAGES, Page

RUN, SWEEP, SHIPPED = "reference/run.md", "reference/sweep.md", "reference/shipped.md"
INDEX, PYTHON, BASES = (f"reference/{name}.md" for name in ("configuration", "python", "bases"))

# classes and functions on the pages of the Python interface, with what stands before them
API = {
    PYTHON: (
        "# Python",
        "A trained model in Python. [Label new texts](../predict.md) has examples.",
        "gile_lightning.load",
        "gile_lightning.systems.predictor.Predictor",
        "gile_lightning.explaining.Explanation",
        "gile_lightning.InputError",
    ),
    BASES: (
        "# Bases of parts",
        "What a part of your own derives from. [Extending](../extending.md) has an example of each "
        "kind, and [Configuration](configuration.md) the parts that there are.",
        "gile_lightning.common.factories.Part",
        "gile_lightning.network.encoders.Encoder",
        "gile_lightning.network.outputs.OutputLayer",
        "gile_lightning.network.matchers.Matcher",
        "gile_lightning.training.losses.Loss",
        "gile_lightning.training.samplers.LabelSampler",
        "gile_lightning.training.samplers.LabelSample",
        "gile_lightning.training.schedules.Schedule",
        "gile_lightning.metrics.DocumentMetric",
        "gile_lightning.metrics.Ranks",
        "gile_lightning.data.reader.Reader",
        "gile_lightning.data.Document",
        "gile_lightning.systems.task_module.TaskModule",
        "gile_lightning.systems.System",
    ),
}

# of a run, what the help of the command line says too briefly, or for one command alone
OWN_WORDS = {
    "seed_everything": "The seed of all draws: initial weights, order of the documents, sampled "
    "labels. `true` draws one.",
    "output": f"{GileCLI.output_help} The folder of a study is runs/sweeps/NAME.",
    "jobs": "Of `sweep`. Trials at a time; by default as many as `--devices` allow, one without "
    "GPUs.",
    "devices": "Of `sweep`. GPUs to share out, such as `0,1,2,3`; by default all.",
}
# keys of Lightning's trainer that these pages and the shipped files use, in our words
TRAINER = {
    "max_epochs": "The most epochs. Early stopping may end training before.",
    "max_steps": "The most training steps; -1 for no limit.",
    "accelerator": "What computes: `cpu`, `gpu` or `auto`.",
    "devices": "How many devices of a machine compute, or which: a number, a list, or `auto`.",
    "num_nodes": "The number of machines.",
    "strategy": "How several processes share the work: `ddp` for one process per device.",
    "precision": "Of the numbers: `32-true`, `bf16-mixed`, `16-mixed` or `64-true`.",
    "gradient_clip_val": "The largest norm, or value, of the gradients; null for no limit.",
    "gradient_clip_algorithm": "What is clipped: `norm` or `value`.",
    "accumulate_grad_batches": "The number of batches whose gradients make one step.",
    "check_val_every_n_epoch": "The number of epochs between two validations.",
    "limit_train_batches": "The number of batches of an epoch, or their share; null for all.",
    "limit_val_batches": "The same for validation.",
    "limit_test_batches": "The same for testing.",
    "fast_dev_run": "Runs so many batches of everything, as a trial; true for one.",
    "logger": "`false` leaves Weights & Biases out.",
    "enable_progress_bar": "Whether progress is shown.",
    "use_distributed_sampler": "Stays false: the loader itself shares the documents out.",
    "enable_model_summary": "Whether Lightning prints the modules; sizes are shown in any case.",
}


def generated() -> dict[str, str]:
    """Return all generated pages by their paths: Markdown."""
    made = {INDEX: _index(), RUN: _run(), SWEEP: _sweep(), SHIPPED: _shipped()}
    made |= {path: _api(lines) for path, lines in API.items()}
    return made | {page.path: _parts(page) for page in PAGES}


def _api(lines: Iterable[str]) -> str:
    """Return a page that has the docstrings of the objects that lines name."""
    return _page([f"::: {x}" if x.startswith("gile_lightning.") else x for x in lines])


def _index() -> str:
    lines = [
        "# Configuration",
        "Every key of every part, read from the code when this site was built. A configuration is "
        "a YAML file; every key can be given on the command line too: `--model.output.joint_dim "
        "200`. [Commands](../commands.md#configurations) tells how files are laid over one "
        "another, and [Parts](../parts.md) what the parts are for.",
        "*Paper* is the value in `paper_bioasq.yaml` or `paper_dw.yaml`; see the [shipped "
        "configurations](shipped.md).",
        _table(
            ("Section", "What it is"),
            [
                ("`model`", "[the model](model.md): a system and its parts"),
                ("`data`", "[the data](data.md): a corpus"),
                ("`trainer`", "[Lightning's trainer](run.md#trainer)"),
                ("`early_stopping`", "[when training stops](run.md#early_stopping)"),
                ("`length`", "[how long training takes](run.md#length)"),
                ("`wandb`", "[Weights & Biases](run.md#wandb)"),
                ("`sweep`", "[a search for settings](sweep.md)"),
                ("other keys", "[of a run](run.md)"),
            ],
        ),
    ]
    for page in PAGES:
        lines.append(f"## {page.title}")
        for kind in page.kinds:
            rows = [
                (f"[`{member.__name__}`]({_file(page)}#{member.__name__})", _summary(member))
                for member in kind.members()
            ]
            lines += [_table((f"`{kind.place}`", kind.title), rows)]
    return _page(lines)


def _run() -> str:
    keys = run_keys()
    plain = [key for key in keys.values() if "." not in key.name and key.name in _OF_A_RUN]
    lines = [
        "# A run",
        "The keys of a run: what it computes with, when it stops, where it leaves its results.",
        *(_run_key(key._replace(text=OWN_WORDS.get(key.name, key.text))) for key in plain),
    ]
    lines += ["## trainer", "Of Lightning's trainer, those that these pages use. `--help` has all."]
    for name, text in TRAINER.items():
        lines.append(_run_key(keys[f"trainer.{name}"]._replace(text=text)))
    for section, text in _SECTIONS.items():
        lines += [f"## {section}", text]
        found = [key for name, key in keys.items() if name.startswith(f"{section}.")]
        found += [k._replace(name=f"length.{k.name}") for k in keys_of(TrainingLength)] * (
            section == "length"
        )
        lines += map(_run_key, found)
    return _page(lines)


_OF_A_RUN = (
    *("seed_everything", "output", "start_from", "keep", "ckpt_path", "checkpoint_every", "test"),
    *("jobs", "devices"),  # of sweep
)
_SECTIONS = {
    "early_stopping": "When training stops, and which epoch is kept.",
    "length": "Chooses the epochs by the number of training documents, where neither "
    "`trainer.max_epochs` nor `trainer.max_steps` is given. With N documents it is `epochs` times "
    "the root of `documents` / N.",
    "wandb": "How a run is called in [Weights & Biases](../tracking.md).",
}


def _run_key(key: Key) -> str:
    return linked(show(key, "", "", level=3), RUN)


def _sweep() -> str:
    keys = [key for name, key in run_keys().items() if name.startswith("sweep.")]
    lines = [
        "# A search for settings",
        "The section `sweep`, which the command of this name reads: [Searching for settings]"
        "(../sweeps.md).",
        *(_run_key(key) for key in keys),
        "## A setting of the space",
        introduction(Setting),
    ]
    own = [key for key in keys_of(Setting) if key.name != "key"]
    lines += [_run_key(key._replace(name=f"sweep.space.KEY.{key.name}")) for key in own]
    return _page(lines)


def _shipped() -> str:
    lines = [
        "# Configurations as shipped",
        "The files in `sweeps/`. `--config best` names one in any folder.",
    ]
    for file in sorted((ROOT / "sweeps").glob("*.yaml")):
        lines += [f"## {file.name} {{ #{file.name} }}", f"```yaml\n{file.read_text()}```"]
    return _page(lines)


def _parts(page: Page) -> str:
    found = entries()
    lines = [f"# {page.title}", page.text]
    for kind in page.kinds:
        if len(page.kinds) > 1:
            lines.append(f"## {kind.title}")
        for member in kind.members():
            lines += _entry(found[member.__name__])
    return _page(lines)


def _entry(entry: Entry) -> Iterator[str]:
    name = entry.kind.__name__
    yield f"### {name} {{ #{name} }}"
    yield f"`{entry.path}`\n{{ .path }}"
    yield linked(introduction(entry.kind), entry.page, name)
    for key in entry.own:
        yield linked(show(key, entry.place, name), entry.page, name)
    if entry.inherited:
        links = []
        for key, (owner, default) in entry.inherited.items():
            there = entries()[owner]
            file = "" if there.page == entry.page else there.page.rpartition("/")[2]
            usual = next(own.default for own in there.own if own.name == key)
            here = f" (here `{default}`)" if default != usual else ""
            links.append(f"[`{key}`]({file}#{owner}.{key}){here}")
        yield f"Also takes {', '.join(links)}."
    elif not entry.own:
        yield "It has no keys."


def _summary(kind: type) -> str:
    """Return the first sentence on a class."""
    first = introduction(kind).partition("\n\n")[0]
    sentence = re.split(r"(?<=[.:])(?<!Eq\.) ", " ".join(first.split()))[0]
    return sentence.replace("|", "\\|").rstrip(":.")


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [head, ("---", "---"), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _file(page: Page) -> str:
    return page.path.rpartition("/")[2]


def _page(lines: Iterable[str]) -> str:
    return "\n\n".join(lines) + "\n"
