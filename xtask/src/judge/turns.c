// One turn at a database. argv[1] is its directory, argv[2] the number of the turn. The number of a turn
// determines its writes: this turn computes those of earlier turns, compares every row of both families with
// them, by iterators in both directions and by Gets, and then writes its own. Some turns end like a killed
// process: writes without a sync survive nevertheless.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocksdb/c.h"

enum { KEYS = 1500, FAMILIES = 2, OPERATIONS = 120, LONGEST = 900 };

// The number of the write that set a row's value; 0 if the row is absent.
static uint64_t expected[FAMILIES][KEYS];

static void fail(const char* what, const char* more) {
  fprintf(stderr, "%s%s%s\n", what, more == NULL ? "" : ": ", more == NULL ? "" : more);
  exit(1);
}

static char* error = NULL;
static void check(const char* what) {
  if (error != NULL) fail(what, error);
}

static uint64_t state;
static uint64_t next(uint64_t below) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) % below;
}

static size_t key_of(uint64_t number, char* out) { return (size_t)sprintf(out, "row%06u", (unsigned)number); }

static size_t value_of(uint64_t write, char* out) {
  size_t length = (size_t)(write * 2654435761u % LONGEST);
  for (size_t at = 0; at < length; at++) out[at] = (char)('a' + (write + at * at) % 26);
  return length;
}

struct database {
  rocksdb_t* db;
  rocksdb_column_family_handle_t* families[FAMILIES];
  rocksdb_writeoptions_t* write;
};

// Makes the writes of a turn; without a database they are only recorded.
static void play(uint64_t turn, struct database* to) {
  state = turn * 7919 + 1;
  char key[16], last[16], value[LONGEST];
  rocksdb_writebatch_t* batch = to == NULL ? NULL : rocksdb_writebatch_create();
  for (uint64_t operation = 0; operation < OPERATIONS; operation++) {
    uint64_t write = turn * OPERATIONS + operation + 1;
    uint64_t family = next(FAMILIES), number = next(KEYS), kind = next(20);
    size_t length = key_of(number, key);
    if (kind == 0) {
      uint64_t end = number + 1 + next(30);
      if (end > KEYS) end = KEYS;
      size_t last_length = key_of(end, last);
      for (uint64_t gone = number; gone < end; gone++) expected[family][gone] = 0;
      if (to != NULL)
        rocksdb_writebatch_delete_range_cf(batch, to->families[family], key, length, last, last_length);
    } else if (kind < 6) {
      expected[family][number] = 0;
      if (to != NULL) rocksdb_writebatch_delete_cf(batch, to->families[family], key, length);
    } else {
      expected[family][number] = write;
      if (to != NULL)
        rocksdb_writebatch_put_cf(batch, to->families[family], key, length, value, value_of(write, value));
    }
    if (to != NULL && (operation % 7 == 6 || operation + 1 == OPERATIONS)) {
      rocksdb_write(to->db, to->write, batch, &error);
      check("write");
      rocksdb_writebatch_clear(batch);
    }
  }
  if (batch != NULL) rocksdb_writebatch_destroy(batch);
}

static void same(const char* where, const char* found, size_t found_length, const char* wanted, size_t wanted_length) {
  if (found_length != wanted_length || memcmp(found, wanted, wanted_length) != 0) fail("another row", where);
}

static void compare(struct database* in) {
  char key[16], value[LONGEST];
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  for (int family = 0; family < FAMILIES; family++) {
    for (int backwards = 0; backwards < 2; backwards++) {
      rocksdb_iterator_t* rows = rocksdb_create_iterator_cf(in->db, read, in->families[family]);
      backwards ? rocksdb_iter_seek_to_last(rows) : rocksdb_iter_seek_to_first(rows);
      for (int at = 0; at < KEYS; at++) {
        int number = backwards ? KEYS - 1 - at : at;
        if (expected[family][number] == 0) continue;
        size_t length = key_of((uint64_t)number, key);
        if (!rocksdb_iter_valid(rows)) fail("a row is lost", key);
        size_t found;
        const char* data = rocksdb_iter_key(rows, &found);
        same(key, data, found, key, length);
        data = rocksdb_iter_value(rows, &found);
        same(key, data, found, value, value_of(expected[family][number], value));
        backwards ? rocksdb_iter_prev(rows) : rocksdb_iter_next(rows);
      }
      if (rocksdb_iter_valid(rows)) fail("a row too many", rocksdb_iter_key(rows, &(size_t){0}));
      rocksdb_iter_get_error(rows, &error);
      check("iterator");
      rocksdb_iter_destroy(rows);
    }
    for (int number = 0; number < KEYS; number += 3) {
      size_t found, length = key_of((uint64_t)number, key);
      char* data = rocksdb_get_cf(in->db, read, in->families[family], key, length, &found, &error);
      check("get");
      if ((data == NULL) != (expected[family][number] == 0)) fail("a get", key);
      if (data != NULL) same(key, data, found, value, value_of(expected[family][number], value));
      rocksdb_free(data);
    }
  }
  rocksdb_readoptions_destroy(read);
}

int main(int argc, char** argv) {
  if (argc != 3) fail("a directory and a number", NULL);
  uint64_t turn = strtoull(argv[2], NULL, 10);
  for (uint64_t before = 0; before < turn; before++) play(before, NULL);

  static const int compressions[] = {rocksdb_no_compression, rocksdb_snappy_compression, rocksdb_zlib_compression,
                                     rocksdb_lz4_compression, rocksdb_zstd_compression};
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_write_buffer_size(options, 1 << 18);
  rocksdb_options_set_target_file_size_base(options, 1 << 16);
  rocksdb_options_set_max_bytes_for_level_base(options, 1 << 18);
  rocksdb_options_set_compression(options, compressions[turn / 2 % 5]);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  if (turn / 2 % 3 == 1) rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
  if (turn / 2 % 3 == 2) rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_ribbon(10));
  rocksdb_options_set_block_based_table_factory(options, table);

  struct database at;
  const char* names[FAMILIES] = {"default", "other"};
  const rocksdb_options_t* each[FAMILIES] = {options, options};
  at.db = rocksdb_open_column_families(options, argv[1], FAMILIES, names, each, at.families, &error);
  check("open");
  at.write = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(at.write, turn % 5 == 0);
  compare(&at);
  play(turn, &at);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  for (int family = 0; family < FAMILIES; family++) {
    if ((turn + (uint64_t)family) % 4 == 0) {
      rocksdb_flush_cf(at.db, flush, at.families[family], &error);
      check("flush");
    }
    if (turn % 9 == 8) rocksdb_compact_range_cf(at.db, at.families[family], NULL, 0, NULL, 0);
  }
  compare(&at);
  // Ends like a killed process, without a close or a destructor.
  if (turn / 2 % 3 == 0) _exit(0);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_writeoptions_destroy(at.write);
  for (int family = 0; family < FAMILIES; family++) rocksdb_column_family_handle_destroy(at.families[family]);
  rocksdb_close(at.db);
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_destroy(options);
  return 0;
}
