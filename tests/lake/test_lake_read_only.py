"""A file system that becomes read-only in the middle of a commit is a storage error like any other."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from knowledge_store.lake import reader
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import StorageError
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_key

KEY = fake_key()
CHAIN = chain_id(KEY)
EPISODES = list(fake_chain(KEY, 2, steps=2))


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_nothing_can_be_tidied_and_the_message_is_the_same(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = ChainWriter(tmp_path, EPISODES[0].sweep, CHAIN, KEY)
    writer.resume()
    writer.commit(EPISODES[0])

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patched:
        for name in (call, "unlink"):
            patched.setattr(os, name, refuse)
        with pytest.raises(StorageError, match="Read-only file system; make the file system writable"):
            writer.commit(EPISODES[1])
    writer.commit(EPISODES[1])
    assert reader.verify_chain(tmp_path, EPISODES[0].sweep, CHAIN) == 2
