from gile_lightning import fit
from gile_lightning.commands import launcher
from gile_testing import runs


def test_a_folder_in_which_a_fit_is_at_work_is_refused(tmp_path):
    output = tmp_path / "run"
    lock = launcher.lock(output, launcher.RUNNING)
    assert lock is not None
    with lock:
        done = runs.call(fit.main, *runs.arguments(output))
    assert done.status == 2
    last = done.errors.splitlines()[-1]
    assert last == f"error: {output}: another fit is at work there; choose another --output"
    assert [file.name for file in output.iterdir()] == [launcher.RUNNING]
