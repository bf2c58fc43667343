"""``ocm data alfworld`` and what it takes from folders and archives: games only, safely, all or nothing."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from envs.alfworld import archive, dataset, download
from envs.alfworld.archive import take
from flows.cli import ocm
from ocm.errors import EnvironmentFault, SpecError
from tests.envs.alfworld_real import needs_alfworld

GAME = json.dumps({"pddl_domain": "d", "grammar": "g", "pddl_problem": "p", "solvable": True}).encode()
MUG = "pick_and_place_simple-Mug-None-Shelf-1/trial_T1/game.tw-pddl"
BOOK = "look_at_obj_in_light-Book-None-DeskLamp-2/trial_T2/game.tw-pddl"
FILES: Mapping[str, bytes] = {
    f"json_2.1.1/valid_seen/{MUG}": GAME,
    f"json_2.1.1/valid_unseen/{MUG}": GAME,
    f"json_2.1.1/valid_unseen/{BOOK}": GAME,
    f"json_2.1.1/valid_unseen/{BOOK.replace('game.tw-pddl', 'traj_data.json')}": b"{}",
    "json_2.1.1/valid_unseen/pick_two_obj_and_place-EggSliced-None-Fridge-1/trial_T3/game.tw-pddl": GAME,
    "logic/alfred.pddl": b"",
}
COUNTS = {"valid_seen": 1, "valid_unseen": 2}


def as_folder(path: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def as_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return path


def as_tar(mode: Any) -> Callable[[Path, Mapping[str, bytes]], Path]:
    def write(path: Path, files: Mapping[str, bytes]) -> Path:
        with tarfile.open(path, mode) as file:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                file.addfile(info, io.BytesIO(content))
        return path

    return write


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("pack", [as_folder, as_zip, as_tar("w"), as_tar("w:gz"), as_tar("w:xz")])
def test_games_and_nothing_else_are_taken(tmp_path: Path, pack: Callable[..., Path]) -> None:
    source = pack(tmp_path / "source", FILES)
    assert take(source, tmp_path / "data") == COUNTS
    wanted = {name: content for name, content in FILES.items() if name.endswith((MUG, BOOK))}
    assert tree(tmp_path / "data") == wanted


@pytest.mark.parametrize("start", [".", "json_2.1.1", "json_2.1.1/valid_unseen"])
def test_a_folder_may_be_given_at_any_depth(tmp_path: Path, start: str) -> None:
    as_folder(tmp_path / "source", FILES)
    counts = take(tmp_path / "source" / start, tmp_path / "data")
    assert counts == (COUNTS if "valid" not in start else {"valid_unseen": 2})


def test_paths_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    evil = {
        f"../../valid_seen/../../{MUG}": GAME,
        "/valid_seen/../evil/game.tw-pddl": GAME,
        f"valid_unseen/{MUG}": GAME,
        f"/etc/valid_seen/{BOOK}": GAME,
    }
    for pack in (as_zip, as_tar("w")):
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
        assert take(pack(tmp_path / "evil", evil), tmp_path / "data") == {"valid_seen": 1, "valid_unseen": 1}
        assert set(tree(tmp_path)) == {
            "evil",
            f"data/json_2.1.1/valid_unseen/{MUG}",
            f"data/json_2.1.1/valid_seen/{BOOK}",
        }


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as file:
        info = tarfile.TarInfo(f"valid_seen/{MUG}")
        info.type, info.linkname = kind, "/etc/passwd"
        file.addfile(info)
    with pytest.raises(SpecError, match="no ALFWorld game"):
        take(tmp_path / "evil.tar", tmp_path / "data")
    assert tree(tmp_path / "data") == {}


def test_a_link_in_a_folder_is_no_game(tmp_path: Path) -> None:
    as_folder(tmp_path / "source", {"valid_seen/pick_and_place_simple-A-None-B-1/trial_1/x": b""})
    (tmp_path / "secret").write_bytes(GAME)
    link = tmp_path / "source/valid_seen/pick_and_place_simple-A-None-B-1/trial_1/game.tw-pddl"
    link.symlink_to(tmp_path / "secret")
    with pytest.raises(SpecError, match="holds no ALFWorld games"):
        take(tmp_path / "source", tmp_path / "data")


def test_what_is_too_large_is_refused_without_being_read(tmp_path: Path) -> None:
    source = as_zip(tmp_path / "bomb.zip", {f"valid_seen/{MUG}": b" " * (50 * 2**20)})
    with pytest.raises(SpecError, match="larger than"):
        take(source, tmp_path / "data")


def test_too_many_games_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_GAMES", 2)
    with pytest.raises(SpecError, match="more than 2 games"):
        take(as_zip(tmp_path / "many.zip", FILES), tmp_path / "data")


def test_the_same_game_twice_is_refused(tmp_path: Path) -> None:
    source = as_zip(tmp_path / "twice.zip", {f"a/valid_seen/{MUG}": GAME, f"b/valid_seen/{MUG}": GAME})
    with pytest.raises(SpecError, match="twice"):
        take(source, tmp_path / "data")


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"grammar": 1}'])
def test_a_wrong_game_is_named_and_nothing_is_taken(tmp_path: Path, content: bytes) -> None:
    source = as_zip(tmp_path / "wrong.zip", {**FILES, f"valid_seen/{BOOK}": content})
    with pytest.raises(SpecError, match=f"{BOOK} is no ALFWorld game"):
        take(source, tmp_path / "data")
    assert tree(tmp_path / "data") == {}


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "crc"])
def test_a_damaged_archive_is_told(tmp_path: Path, damage: str) -> None:
    source = as_tar("w:gz")(tmp_path / "source", FILES)
    content = source.read_bytes()
    source.write_bytes(
        {"cut": content[:200], "text": b"not an archive\n" * 99, "empty": b"", "crc": b""}[damage]
    )
    if damage == "crc":
        content = as_zip(source, FILES).read_bytes()
        source.write_bytes(content.replace(content[60:70], b"0123456789", 1))
    with pytest.raises(SpecError, match="give a") as told:
        take(source, tmp_path / "data")
    assert "\n" not in told.value.message
    assert tree(tmp_path / "data") == {}


def test_a_zip_with_a_password_is_told(tmp_path: Path) -> None:
    content = bytearray(as_zip(tmp_path / "locked.zip", {f"valid_seen/{MUG}": GAME}).read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    (tmp_path / "locked.zip").write_bytes(bytes(content))
    with pytest.raises(SpecError, match="password"):
        take(tmp_path / "locked.zip", tmp_path / "data")


def test_what_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    old = as_folder(tmp_path / "data", {f"json_2.1.1/valid_seen/{BOOK}": GAME, "json_2.1.1/train/x": b"1"})
    before = tree(old)
    source = as_zip(tmp_path / "new.zip", FILES)
    with pytest.raises(SpecError, match="valid_seen already; add --force"):
        take(source, old)
    assert tree(old) == before
    assert take(source, old, force=True) == COUNTS
    after = tree(old)
    assert f"json_2.1.1/valid_seen/{BOOK}" not in after and after["json_2.1.1/train/x"] == b"1"
    assert [path.name for path in old.iterdir()] == ["json_2.1.1"]


def test_an_interrupted_unpacking_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(games: int) -> None:
        raise KeyboardInterrupt

    source = as_zip(tmp_path / "new.zip", FILES)
    with pytest.raises(KeyboardInterrupt):
        take(source, tmp_path / "data", told=interrupt)
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, PermissionError])
def test_what_was_there_comes_back_when_the_new_set_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """The old set lay aside then, and was removed with all that lies there."""
    data = as_folder(tmp_path / "data", {f"json_2.1.1/valid_seen/{BOOK}": GAME})
    rename, before = Path.rename, tree(data)

    def fails_once(path: Path, target: Path) -> Path:
        if path.parent.name == "new":
            raise error
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails_once)
    with pytest.raises(error):
        take(as_zip(tmp_path / "new.zip", FILES), data, force=True)
    assert tree(data) == before


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_tars_header_that_is_too_large_is_refused_without_being_read(tmp_path: Path, kind: bytes) -> None:
    """It was read into memory whole: ten gigabytes of zeros are ten megabytes of archive."""
    info = tarfile.TarInfo("header")
    info.type, info.size = kind, 64 * 2**20
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz", compresslevel=1) as file:
        file.addfile(tarfile.TarInfo("first"))
        file.addfile(info, io.BytesIO(bytes(info.size)))
    tracemalloc.start()
    try:
        with pytest.raises(SpecError, match=r"cannot be read.*header of 67108864 bytes"):
            take(tmp_path / "evil.tar.gz", tmp_path / "data")
        assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
    finally:
        tracemalloc.stop()


def test_a_tar_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes memory, whatever it is called, and costs a compressed archive next to nothing."""
    monkeypatch.setattr(archive, "MAX_FILES", 3)
    with pytest.raises(SpecError, match="more than 3 files"):
        take(as_tar("w:gz")(tmp_path / "many.tar.gz", FILES), tmp_path / "data")


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    game = as_folder(tmp_path / "source", FILES) / f"json_2.1.1/valid_seen/{MUG}"
    game.unlink()
    os.mkfifo(game)
    assert take(tmp_path / "source", tmp_path / "data") == {"valid_unseen": 2}


def test_a_folder_can_be_taken_into_itself(tmp_path: Path) -> None:
    data = as_folder(tmp_path / "data", {**FILES, f".unpacking-killed/new/valid_seen/{MUG}": GAME})
    assert take(data, data, force=True) == COUNTS
    assert take(data, data / "inner") == COUNTS


def test_the_folder_of_a_killed_unpacking_is_removed_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_folder(tmp_path / "data", {".unpacking-killed/new/x": b""})
    monkeypatch.setattr(archive, "LEFTOVER_SECONDS", -1.0)
    take(as_zip(tmp_path / "new.zip", FILES), tmp_path / "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["json_2.1.1"]


# --- the command -------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return dataset.data_folder()


def test_the_command_takes_an_archive_into_the_users_folder_and_lists_it(tmp_path: Path, data: Path) -> None:
    assert data.is_relative_to(tmp_path)
    run = CliRunner().invoke(ocm, ["data"], catch_exceptions=False)
    assert "not there; fetch the data set with `ocm data alfworld`" in run.output
    source = as_zip(tmp_path / "games.zip", FILES)
    run = CliRunner().invoke(ocm, ["data", "alfworld", str(source)], catch_exceptions=False)
    assert run.output == f"{data}: valid_seen 1 of 140 games, valid_unseen 2 of 134 games\n"
    run = CliRunner().invoke(ocm, ["data"], catch_exceptions=False)
    assert "alfworld      valid_seen 1 of 140 games, valid_unseen 2 of 134 games\n" in run.output
    with pytest.raises(SpecError, match="add --force"):
        CliRunner().invoke(ocm, ["data", "alfworld"], catch_exceptions=False)


def test_another_folder_is_told_how_to_be_used(tmp_path: Path, data: Path) -> None:
    source = as_folder(tmp_path / "games", FILES)
    arguments = ["data", "alfworld", str(source), "--to", str(tmp_path / "there")]
    run = CliRunner().invoke(ocm, arguments, catch_exceptions=False)
    assert f"export ALFWORLD_DATA={tmp_path / 'there'}" in run.output and not data.exists()


def test_an_environment_without_data_set_and_an_unknown_one_are_told(tmp_path: Path, data: Path) -> None:
    for name, said in (("plancraft", "comes with its package"), ("alfwrld", "did you mean alfworld")):
        with pytest.raises(SpecError, match=said):
            CliRunner().invoke(ocm, ["data", name], catch_exceptions=False)
    with pytest.raises(SpecError, match="does not exist"):
        CliRunner().invoke(ocm, ["data", "alfworld", str(tmp_path / "none.zip")], catch_exceptions=False)


@needs_alfworld
def test_without_internet_the_packages_downloader_ends_in_one_line(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = {**download._script(), "TW_PDDL_FILES_URL": "http://127.0.0.1:9/games.zip"}
    monkeypatch.setattr(download, "_script", lambda: script)
    with pytest.raises(EnvironmentFault, match=r"cannot be fetched.*ocm data alfworld FILE"):
        CliRunner().invoke(ocm, ["data", "alfworld"], catch_exceptions=False)
    assert not data.exists()


@needs_alfworld
def test_the_packages_downloader_fetches_the_text_games(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = download._script()
    assert script["TW_PDDL_FILES_URL"].endswith("json_2.1.2_tw-pddl.zip")
    made = as_zip(tmp_path / "games.zip", FILES)
    monkeypatch.setitem(script, "download", lambda address, dst: str(made))
    monkeypatch.setattr(download, "_script", lambda: script)
    run = CliRunner().invoke(ocm, ["data", "alfworld"], catch_exceptions=False)
    assert run.output == f"{data}: valid_seen 1 of 140 games, valid_unseen 2 of 134 games\n"
