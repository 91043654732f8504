from gile_lightning.common.grid import TextGrid, columns

GRID = TextGrid(
    ["labels", "average precision", "empty", "P@1"],
    [["seen", "12.50", "", "9"], ["[red]all", "100.00", "", ""]],
)
PLAIN = """\
labels    average precision  P@1
--------------------------------
seen                  12.50    9
[red]all             100.00     """


def test_columns_are_aligned_and_empty_ones_left_out():
    assert str(GRID) == GRID.shown(None, False) == GRID.shown(32, False) == PLAIN
    assert str(TextGrid(["a", "b"], [])) == "a  b\n----"


def test_wide_letters_and_marks_keep_columns():
    grid = TextGrid(["label", "P"], [["東京", "1"], ["cafe\u0301", "10"], ["सी", "7"]])
    assert str(grid) == "label   P\n---------\n東京    1\ncafe\u0301   10\nसी      7"
    folded = TextGrid(["label", "a title"], [["東京 大学", "1"]]).shown(11, False).split("\n")
    assert max(map(columns, folded)) <= 11


def test_bold_titles():
    title, rest = PLAIN.split("\n", 1)
    assert GRID.shown(80, True) == f"\x1b[1m{title}\x1b[0m\n{rest}"


def test_titles_are_folded_on_a_narrow_terminal():
    lines = [line.rstrip() for line in GRID.shown(24, False).split("\n")]
    assert lines[0].split() == ["average"]
    assert lines[1].split() == ["labels", "precision", "P@1"]
    assert [line.split() for line in lines[3:]] == [["seen", "12.50", "9"], ["[red]all", "100.00"]]
    assert max(map(len, lines)) <= 24
    assert "\x1b[1m" in GRID.shown(24, True)
    assert "\x1b" not in GRID.shown(24, False)


def test_no_figure_is_cut_off():
    figures = [str(i) * 5 for i in range(10)]
    grid = TextGrid(["seen, by popularity", *["a title"] * 9], [["x", *figures[1:]]])
    for width in range(10, 110):
        shown = grid.shown(width, False)
        assert all(figure in shown.split() for figure in figures[1:]), width
        # as it is where no folding helps: popularity, nine figures and the spaces between them
        assert (max(map(len, shown.split("\n"))) <= width) == (width >= 10 + 9 * 5 + 9)
