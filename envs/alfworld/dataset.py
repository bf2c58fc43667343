"""The benchmark's data set on this machine: where it is, and which games it holds.

The layout is the package's: ``json_2.1.1/<task set>/<folder>/<trial>/game.tw-pddl`` under
``ALFWORLD_DATA``, or, where that is not set, under a folder of the user's that ``ocm data alfworld``
fills.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from envs.alfworld.game import FILE_NAME, is_solvable, task_type
from ocm.errors import SpecError

VARIABLE = "ALFWORLD_DATA"
LAYOUT = "json_2.1.1"
GAMES = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
"""How many a whole task set has."""
TASK_SETS = tuple(GAMES)
MEND = f"fetch the data set with `ocm data alfworld`, or set {VARIABLE} to the folder that holds {LAYOUT}"


def data_folder() -> Path:
    """The folder that holds, or would hold, the data set.

    Raises:
        SpecError: the variable begins with ``~`` and names no user of this machine.
    """
    import platformdirs

    given = os.environ.get(VARIABLE)
    if not given:
        return Path(platformdirs.user_data_dir("ocm-at-scale")) / "alfworld"
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise SpecError(
            f"{VARIABLE} is {given!r}, the home of an unknown user; give the whole path"
        ) from None


def game_ids(task_set: str, data: Path) -> Sequence[str]:
    """The games of a task set, sorted: paths under its folder, without the file's name.

    It looks at the last bytes of every game file: 0.3 s of CPU for the 3,553 of ``train``.

    Raises:
        SpecError: the data set is not there, or a game in it is damaged.
    """
    folder = data / LAYOUT / task_set
    try:
        ids = sorted(_id(path, folder) for path in _files(folder) if is_solvable(path))
    except (OSError, ValueError) as error:
        raise SpecError(f"ALFWorld's data set is damaged: {error}; run: ocm data alfworld --force") from None
    if not ids:
        raise SpecError(
            f"ALFWorld's games of {task_set} are not in {data}; {MEND}; the task set `own` needs none"
        )
    return ids


def games_there(data: Path) -> Mapping[str, int]:
    """The number of game files by task set, for those that are there; nothing is read."""
    found = {task_set: _files(data / LAYOUT / task_set) for task_set in TASK_SETS}
    return {task_set: len(files) for task_set, files in found.items() if files}


def game_file(task_set: str, game_id: str, data: Path) -> Path | None:
    """The file of a game, or None when there is none of that id."""
    parts = game_id.split("/")
    if task_set not in TASK_SETS or len(parts) != 2 or not task_type(game_id) or ".." in parts:
        return None
    path = data / LAYOUT / task_set / game_id / FILE_NAME
    return path if path.is_file() else None


def _files(folder: Path) -> Sequence[Path]:
    return [path for path in folder.glob(f"*/*/{FILE_NAME}") if task_type(_id(path, folder))]


def _id(path: Path, folder: Path) -> str:
    return path.parent.relative_to(folder).as_posix()
