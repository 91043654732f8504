"""What is trained and compared: the contract, the neural system, baselines."""

from gile_lightning.systems.neural import NeuralSystem
from gile_lightning.systems.system import System

__all__ = ["NeuralSystem", "System"]
