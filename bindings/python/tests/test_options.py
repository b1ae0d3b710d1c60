"""Options by RocksDB's names."""

from __future__ import annotations

from pathlib import Path

import esker
import pytest
from esker import _esker


def test_options_of_database_family_and_tables(path: Path) -> None:
    with esker.open(
        path,
        max_background_jobs=1,
        write_buffer_size="1M",
        level0_file_num_compaction_trigger=3,
        compression="kZSTD",
        compression_per_level=["kNoCompression", "kSnappyCompression"],
        compression_opts={"level": 2},
        block_size=16384,
        filter_policy="bloomfilter:10:false",
        cache_index_and_filter_blocks=True,
        block_cache=esker.Cache(1 << 20),
        rate_limiter=100 << 20,
        prefix_extractor="fixed:2",
        statistics=True,
    ) as db:
        assert db.db_options["max_background_jobs"] == "1"
        options = db.options
        assert options["write_buffer_size"] == str(1 << 20)
        assert options["compression"] == "kZSTD"
        assert options["compression_per_level"] == "kNoCompression:kSnappyCompression"
        assert "level=2" in options["compression_opts"]
        assert options["block_size"] == "16384"
        assert options["filter_policy"] == "bloomfilter:10:false"
        assert options["prefix_extractor"] == "rocksdb.FixedPrefix.2"
        db[b"k"] = b"v"
        db.flush()
        assert db[b"k"] == b"v"
        assert db.property("rocksdb.block-cache-capacity") == 1 << 20
    stored = esker.load_options(path)
    assert stored is not None and stored["column_families"]["default"]["block_size"] == "16384"
    with esker.DB(path, load_options=True, block_size=4096) as db:
        assert db.options["compression"] == "kZSTD" and db.options["block_size"] == "4096"
    with esker.DB(path) as db:
        assert db.options["compression"] != "kZSTD"


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("no_such_option", 1, esker.InvalidArgument),
        ("write_buffer_size", "large", esker.InvalidArgument),
        ("write_buffer_size", True, TypeError),
        ("write_buffer_size", object(), TypeError),
        ("create_if_missing", 2, TypeError),
        ("max_background_jobs", 0, esker.InvalidArgument),
        ("compression", "kNonsense", esker.InvalidArgument),
        ("comparator", "nobodys", esker.InvalidArgument),
        ("comparator", object(), TypeError),
        ("merge_operator", "nobodys", esker.InvalidArgument),
        ("merge_operator", 5, TypeError),
        ("compaction_filter", 5, TypeError),
        ("prefix_extractor", "nobodys", esker.InvalidArgument),
        ("statistics", 5, TypeError),
        ("column_families", {"a": {"nonsense": 1}}, esker.InvalidArgument),
    ],
)
def test_what_is_no_option_is_refused_by_name(path: Path, name: str, value: object, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        esker.open(path, **{name: value})
    if isinstance(raised.value, esker.InvalidArgument):
        assert name in str(raised.value) or "nobodys" in str(raised.value) or "nonsense" in str(raised.value)
    assert not path.exists()


def test_options_change_while_the_database_is_open(db: esker.DB) -> None:
    db.set_options(write_buffer_size=2 << 20, disable_auto_compactions=True)
    assert db.options["write_buffer_size"] == str(2 << 20)
    db.set_db_options(max_background_jobs=3)
    assert db.db_options["max_background_jobs"] == "3"
    with pytest.raises(esker.InvalidArgument, match="num_levels"):
        db.set_options(num_levels=3)


def test_each_option_can_be_set_to_what_it_is(path: Path) -> None:
    with esker.open(path) as db:
        said = {**db.db_options, **db.options}
    names = [name for rows in _esker._option_names().values() for name, _ in rows]
    assert len(names) == len(set(names)), "one keyword means one option"
    assert set(names) <= set(said)
    with esker.DB(path, **{name: said[name] for name in names}) as db:
        assert {**db.db_options, **db.options} == said


def test_statistics_and_properties_are_dicts(path: Path) -> None:
    statistics = esker.Statistics()
    with esker.open(path, statistics=statistics) as db:
        for number in range(100):
            db[b"%d" % number] = b"v" * 100
        db.flush()
        assert db.get(b"5") is not None
        tickers = statistics.tickers()
        assert tickers["rocksdb.number.keys.written"] == 100
        assert tickers["rocksdb.number.keys.read"] >= 1
        assert statistics.histograms()["rocksdb.db.write.micros"]["count"] == 100
        assert db.statistics is not None and db.statistics.tickers() == tickers
        properties = db.properties()
        assert properties["rocksdb.estimate-num-keys"] == 100
        assert properties["rocksdb.total-sst-files-size"] > 0
        assert isinstance(properties["rocksdb.stats"], str)
        assert db.property("rocksdb.num-files-at-level0") == 1
        assert db.property("rocksdb.nonsense") is None
        assert db.approximate_size(b"0", b"z") > 0
        statistics.reset()
        assert statistics.tickers()["rocksdb.number.keys.written"] == 0
    file = esker.DB(path, read_only=True).live_files()[0]
    assert file["level"] == 0 and file["smallest_key"] == b"0" and file["column_family"] == "default"


def test_a_cache_is_shared_and_resized(tmp_path: Path) -> None:
    cache = esker.Cache(1 << 20)
    manager = esker.WriteBufferManager(8 << 20, cache)
    with (
        esker.open(tmp_path / "a", block_cache=cache, write_buffer_manager=manager) as a,
        esker.open(tmp_path / "b", block_cache=cache, write_buffer_manager=manager) as b,
    ):
        for db in (a, b):
            db[b"k"] = b"v" * 1000
            assert manager.memory_usage > 0
            db.flush()
            assert db[b"k"] == b"v" * 1000
        assert cache.usage > 0
        cache.capacity = 2 << 20
        assert cache.capacity == 2 << 20 == a.property("rocksdb.block-cache-capacity")


def test_the_types_of_the_options_are_those_of_the_rows() -> None:
    from esker import options

    for table, rows in _esker._option_names().items():
        known = {**getattr(options, table).__annotations__}
        for name, type_name in rows:
            expected = {"boolean": "bool", "integer": "int | str", "number": "float"}.get(type_name)
            assert name in known, f"{table}.{name}: cargo xtask gen"
            if expected is not None:
                assert known[name].__forward_arg__ == expected, name
