import subprocess
import sys

from gile_lightning.__main__ import COMMANDS

HEAVY = ("torch._dynamo", "torchmetrics.text", "scipy", "sklearn", "matplotlib", "plotly", "pandas")
HEAVY += ("datasets", "transformers", "wandb")

LIGHTNING = """
import pickle, sys, types
import gile_lightning, lightning, torch
import torchmetrics.classification
from lightning.fabric.wrappers import _unwrap_compiled
from lightning.pytorch.utilities.compile import from_compiled, to_uncompiled
from torchmetrics import MeanMetric, Metric
from torchmetrics.metric import Metric as Same

class Model(lightning.LightningModule):
    def forward(self, x):
        return x + 1

model = Model()
assert "torch._dynamo" not in sys.modules
assert _unwrap_compiled(model) == (model, None)
compiled = torch.compile(model, backend="eager")
assert compiled(torch.zeros(1)).item() == 1
assert isinstance(compiled, torch._dynamo.OptimizedModule)
assert from_compiled(compiled) is model
assert to_uncompiled(compiled) is model
try:
    from_compiled(torch.nn.Identity())
    sys.exit("not refused")
except ValueError:
    pass

assert Same is Metric and issubclass(MeanMetric, Metric)
assert type(torchmetrics) is types.ModuleType
assert torchmetrics.classification.BinaryAccuracy()(torch.tensor([1.0]), torch.tensor([1])) == 1
mean = MeanMetric()
mean.update(2.0)
assert pickle.loads(pickle.dumps(mean)).compute() == 2
figure, axes = mean.plot()
assert type(figure).__module__ == "matplotlib.figure"
assert torchmetrics.utilities.plot.plot_single_or_multi_val.__module__.endswith(".plot")
"""


def test_commands_import_nothing_that_takes_a_second_and_later_it_works_as_ever():
    imports = ", ".join(f"gile_lightning.{name}" for name in COMMANDS)
    code = f"import sys, {imports}\nprint(*[x for x in {HEAVY} if x in sys.modules])\n{LIGHTNING}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
