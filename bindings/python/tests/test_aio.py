"""The database for asyncio."""

from __future__ import annotations

import asyncio
from pathlib import Path

import esker
import esker.aio
import pytest


def test_every_call_is_awaited(path: Path) -> None:
    async def body() -> None:
        async with esker.aio.open(path, merge_operator=esker.merge.string_append(b",")) as db:
            await asyncio.gather(*(db.put(b"%03d" % number, b"v") for number in range(600)))
            assert await db.get(b"007") == b"v" and await db.get(b"x", b"-") == b"-"
            assert await db.multi_get([b"001", b"x"]) == [b"v", None] and await db.contains(b"001")
            await db.merge(b"m", b"1")
            await db.merge(b"m", b"2")
            assert await db.get(b"m") == b"1,2"
            async with await db.snapshot() as snapshot:
                await db.delete_range(b"000", b"500")
                assert await snapshot.get(b"001") == b"v"
            assert [key async for key in db.keys(b"598")] == [b"598", b"599", b"m"]
            assert len([row async for row in db.items(b"5", b"6", reverse=True)]) == 100
            other = await db.create_column_family("other")
            await other.update({b"k": b"v"})
            assert [value async for value in db.column_family("other").values()] == [b"v"]
            await db.flush()
            await db.compact_range()
            await db.drop_column_family("other")
        with pytest.raises(esker.ShutdownInProgress):
            db.sync.get(b"k")
        db = await esker.aio.open(path)
        assert await db.get(b"m") == b"1,2"
        await db.close()
        with pytest.raises(esker.Error):
            async with esker.aio.open(path, error_if_exists=True):
                pass

    asyncio.run(body())
