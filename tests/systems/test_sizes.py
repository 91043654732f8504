import lightning

from gile_lightning.systems.sizes import Sizes, count_parameters, describe_sizes
from gile_testing.two_languages import PARTS, built


def test_numbers_of_parameters(capsys):
    system = built(**PARTS, sharing="attention")
    # 5 and 4 words; a layer and attention; two projections and a unit
    english, encoder, output = 5 * 6, (6 + 1) * 5 + (5 + 1) * 5 + 5 + 1, 6 * 7 + 7 * 7 + 7 + 1
    shared = (5 + 1) * 5 + 5 + 1 + 6 * 7 + 7 * 7  # the attention and the projections
    total = english + 4 * 6 + 2 * (encoder + output) - shared
    assert count_parameters(system) == total
    assert describe_sizes(system).splitlines() == [
        f"parameters (english): embedding {english}, encoder {encoder}, output {output}",
        f"parameters (german): embedding {4 * 6}, encoder {encoder}, output {output}",
        f"parameters in all: {total}, {total / 2:,.0f} per language",
    ]
    Sizes().on_fit_start(None, system)
    Sizes().on_fit_start(None, lightning.LightningModule())  # of which nothing is known
    assert capsys.readouterr().out == describe_sizes(system) + "\n"
