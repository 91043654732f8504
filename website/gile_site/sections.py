"""The pages of the reference, and the kinds of classes on each."""

from typing import NamedTuple

from gile_site.classes import Kind

ENCODERS = "gile_lightning.network.encoders"


class Page(NamedTuple):
    """A page of the reference: its file, title and first paragraph, and what it describes."""

    path: str
    title: str
    text: str
    kinds: tuple[Kind, ...]


PAGES = (
    Page(
        "reference/model.md",
        "The model",
        "The section `model`. `class_path` names a system; the neural one is the default, so that "
        "its keys can stand right below `model`.",
        (
            Kind("The neural system", "model", "gile_lightning.systems", ("NeuralSystem",)),
            Kind(
                "Keys of all systems that follow gradients",
                "model",
                "gile_lightning.systems.gradient",
                ("GradientSystem",),
            ),
            Kind("Keys of all systems", "model", "gile_lightning.systems", ("System",)),
        ),
    ),
    Page(
        "reference/data.md",
        "The data",
        "The section `data`. `class_path` names the data module of a corpus.",
        (
            Kind(
                "Data modules",
                "data",
                "gile_lightning.data",
                ("Corpus", "BioASQ", "ATTACK", "DW"),
            ),
            Kind(
                "Keys of all corpora of one language",
                "data",
                "gile_lightning.data",
                ("DocumentDataModule",),
            ),
        ),
    ),
    Page(
        "reference/encoders.md",
        "Word vectors and encoders",
        "How texts become vectors.",
        (
            Kind("Word vectors", "model.embedding", ENCODERS, ("WordEmbedding",), 1),
            Kind("Their start", "model.embedding.start", ENCODERS, "CorpusVectors"),
            Kind("Encoders", "model.encoder", ENCODERS, "Encoder", 1),
            Kind("Layers", "model.encoder.layer", ENCODERS, ("Dense", "GRU", "BiGRU"), 1),
            Kind(
                "Poolings",
                "model.encoder.pooling",
                ENCODERS,
                ("AttentionPooling", "SumPooling", "AveragePooling"),
                1,
            ),
        ),
    ),
    Page(
        "reference/outputs.md",
        "Output layers, matchers, residuals",
        "How the vectors and words of a document and a label become a logit.",
        (
            Kind(
                "Output layers",
                "model.output",
                "gile_lightning.network.outputs",
                "OutputLayer",
                4,
            ),
            Kind("Matchers", "model.matchers", "gile_lightning.network.matchers", "Matcher", 1),
            Kind(
                "The label residual",
                "model.label_residual",
                "gile_lightning.network",
                ("LabelResidual",),
                3,
            ),
            Kind("Ridge regression", "model.ridge", "gile_lightning.network", ("Ridge",), 2),
        ),
    ),
    Page(
        "reference/training.md",
        "Samplers, losses, optimizers, metrics",
        "What a training step does, and what is measured.",
        (
            Kind("Samplers", "model.sampler", "gile_lightning.training.samplers", "LabelSampler"),
            Kind("Losses", "model.loss", "gile_lightning.training.losses", "Loss"),
            Kind(
                "Optimizers",
                "model.optimizer",
                "gile_lightning.training.optimizers",
                ("LazyAdam",),
                1,
            ),
            Kind("Schedules", "model.schedule", "gile_lightning.training.schedules", "Schedule"),
            Kind("Metrics", "model.metrics", "gile_lightning.metrics", "DocumentMetric"),
        ),
    ),
    Page(
        "reference/baselines.md",
        "Baselines",
        "Other systems for the section `model`. [Systems](../systems.md) has the commands.",
        (
            Kind(
                "Baselines",
                "model",
                "gile_lightning.systems.baselines",
                ("AiTextML", "OneVersusRest", "Popularity", "TfidfCosine"),
            ),
        ),
    ),
    Page(
        "reference/released.md",
        "Parts of the released models",
        "They compute what the authors' released code does; see [their weights]"
        "(../released_weights.md).",
        (
            Kind("Encoder", "model.encoder", "gile_lightning.released", ("ReleasedHAN",), 1),
            Kind(
                "Layers",
                "model.encoder.layer",
                "gile_lightning.released.layers",
                ("ReleasedDense", "ReleasedGRU", "ReleasedBiGRU"),
                1,
            ),
        ),
    ),
)
