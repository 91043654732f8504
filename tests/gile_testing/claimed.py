"""A grid with statements about its rows, and the figures of its fits."""

from gile_lightning.reproduction.grid import Check, Claim, Column, Grid, Row
from gile_lightning.reproduction.tables import build

LANGUAGES = ("en", "de", "es", "pt", "uk")


def claimed_grid(folder):
    (folder / "a.yaml").write_text("seed_everything: 0\n")
    return Grid(
        "A title",
        "a.yaml",
        (*(Column(x, f"{x}:f1") for x in LANGUAGES), Column("mean", mean=True)),
        (
            Row("linear", set={"row": 1}, runs="each", paper=[1, 2, 3, 4, 5, 3]),
            Row("joint", set={"row": 2}, runs="each"),
            Row("drawn", set={"row": 3}, runs="each"),
        ),
        runs={"each": {x: {"language": x} for x in LANGUAGES}},
        claims=(
            Claim("joint beats linear", "joint", "linear"),
            Claim("drawn beats linear", "drawn", "linear"),
            Claim("joint beats linear in English", "joint", "linear", ("en",)),
        ),
        check=Check(("joint",), ("de",), tolerance=2.0),
        root=folder,
    )


FIGURES = {  # of two seeds
    "linear": {"en": 0.10, "de": 0.20, "es": 0.30, "pt": 0.40, "uk": 0.50},
    "joint": {"en": 0.15, "de": 0.23, "es": 0.34, "pt": 0.41, "uk": 0.52},
    "drawn": {"en": 0.15, "de": 0.15, "es": 0.31, "pt": 0.39, "uk": 0.51},
}


def claimed_lines(grid, seeds=2):
    fits = grid.fits(seeds, {})
    metrics = {
        fit.key: {"f1": FIGURES[fit.row.name][fit.run] + 0.02 * (fit.seed - 1234), "parameters": 7}
        for fit in fits
    }
    return fits, build(grid, fits, lambda key: ("done", metrics[key]))
