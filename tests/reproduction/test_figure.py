"""The figure of label sampling, and learning curves."""

import pytest

from gile_lightning.reproduction.figure import draw
from gile_lightning.reproduction.grid import Column, Grid, Row
from gile_lightning.reproduction.tables import Cell, Line

GRID = Grid(
    "Sampling",
    "",
    (Column("F1", "f1"), Column("speed-up (%)", "speed")),
    (),
    blocks=("general", "specific"),
    figure={"x": "labels (%)", "score": "F1", "speed": "speed-up (%)", "baseline": "HNN"},
)


def line(block, name, x, f1, speed):
    cells = tuple(Cell((y,) if y is not None else ()) for y in (f1, speed))
    return Line(block, Row(name, x=x), cells, 1, 1, None, None, None)


LINES = [
    line("general", "HNN", None, 70.0, None),
    line("general", "all", 100, 74.8, 0.0),
    line("general", "half", 50, 74.0, 18.0),
    line("specific", "HNN", None, None, None),
]


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_draws_what_there_is_and_equal_tables_equally(kind, start):
    content = draw(GRID, LINES, "dw", kind)
    assert content.startswith(start)
    assert draw(GRID, LINES, "dw", kind) == content
    assert draw(GRID, LINES[:-2], "dw", kind) != content
    assert draw(GRID, [], "dw", kind).startswith(start)


def test_what_is_drawn(monkeypatch):
    drawn = []
    save = "matplotlib.figure.Figure.savefig"
    monkeypatch.setattr(save, lambda figure, *args, **kwargs: drawn.append(figure))
    draw(GRID, LINES, "dw", "png")
    score, empty, speed, _ = drawn[0].axes
    assert [list(x.get_ydata()) for x in score.containers[0].get_children()[:1]] == [[74.0, 74.8]]
    assert list(score.containers[0].get_children()[0].get_xdata()) == [50, 100]
    assert list(speed.containers[0].get_children()[0].get_ydata()) == [18.0, 0.0]
    dashed = [x for x in score.lines if x.get_linestyle() == "--"]
    assert [x.get_ydata()[0] for x in dashed] == [70.0]
    assert not empty.containers
    assert "general" in score.get_title()
    assert "specific" in empty.get_title()


CURVES = Grid(
    "Curves",
    "",
    (
        Column("seen 30", panel="seen labels", x=30),
        Column("seen all", panel="seen labels", x=500),
        Column("seconds"),
        Column("unseen all", panel="unseen labels", x=500),
    ),
    (),
    blocks=("a", "b"),
    figure={"x": "documents", "score": "AvgPr"},
)


def curve(block, name, *figures):
    cells = tuple(Cell(x) for x in figures)
    return Line(block, Row(name), cells, 1, 1, None, None, None)


def test_learning_curves(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda figure, *args, **kwargs: drawn.append(figure)
    )
    lines = [
        curve("b", "joint", (40.0, 44.0), (50.0,), (9.0,), (60.0,)),
        curve("b", "linear", (), (30.0,), (1.0,), ()),
    ]
    draw(CURVES, lines, "news", "png")
    draw(CURVES, [], "news", "png")
    seen, unseen = drawn[0].axes
    assert (seen.get_title(), unseen.get_title()) == ("b, seen labels", "b, unseen labels")
    joint, linear = (next(iter(x.get_children())) for x in seen.containers)
    assert [list(joint.get_xdata()), list(joint.get_ydata())] == [[30, 500], [42.0, 50.0]]
    assert [list(linear.get_xdata()), list(linear.get_ydata())] == [[500], [30.0]]
    assert len(unseen.containers) == 1
    assert seen.get_xscale() == "log"
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["joint", "linear"]
    assert len(drawn[1].axes) == 4
