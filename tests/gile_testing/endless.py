"""The command `reproduce`, whose fits write the number of their process and never end."""

import sys

from gile_lightning import reproduce
from gile_lightning.reproduction.runner import Runner

WAIT = "import os, time; open('started', 'w').write(str(os.getpid())); time.sleep(99)"

if __name__ == "__main__":
    Runner.program = ("-c", WAIT)
    reproduce.main(sys.argv[1:])
