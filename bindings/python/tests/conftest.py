from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import esker
import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def db(path: Path) -> Iterator[esker.DB]:
    with esker.open(path) as db:
        yield db
