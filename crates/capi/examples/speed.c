/* The costs of single operations through the C interface; speed.rs does the same through the Rust interface.
   speed DIR ROWS [OPERATION]: prints the nanoseconds of each operation, or of one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rocksdb/c.h"

enum { KEY = 16, VALUE = 100, BATCH = 100 };

struct place {
  rocksdb_t* db;
  rocksdb_readoptions_t* reads;
  rocksdb_writeoptions_t* writes;
  uint64_t rows;
};

static void check(char* err) {
  if (err == NULL) return;
  fprintf(stderr, "%s\n", err);
  exit(1);
}

/* Visits every row once, in an order without a pattern. */
static void key_of(const struct place* at, uint64_t i, char* key) {
  uint64_t row = i * 7919 % at->rows;
  for (int digit = KEY - 1; digit >= 0; digit--, row /= 10) key[digit] = (char)('0' + row % 10);
}

static uint64_t put(struct place* at) {
  char key[KEY], value[VALUE], *err = NULL;
  memset(value, 'v', sizeof(value));
  for (uint64_t i = 0; i < at->rows; i++) {
    key_of(at, i, key);
    rocksdb_put(at->db, at->writes, key, KEY, value, VALUE, &err);
    check(err);
  }
  return at->rows;
}

static uint64_t batch(struct place* at) {
  char key[KEY], value[VALUE], *err = NULL;
  memset(value, 'v', sizeof(value));
  rocksdb_writebatch_t* rows = rocksdb_writebatch_create();
  for (uint64_t i = 0; i < at->rows; i++) {
    key_of(at, i, key);
    rocksdb_writebatch_put(rows, key, KEY, value, VALUE);
    if (i % BATCH == BATCH - 1) {
      rocksdb_write(at->db, at->writes, rows, &err);
      check(err);
      rocksdb_writebatch_clear(rows);
    }
  }
  rocksdb_writebatch_destroy(rows);
  return at->rows;
}

static uint64_t get(struct place* at) {
  char key[KEY], *err = NULL;
  for (uint64_t i = 0; i < at->rows; i++) {
    key_of(at, i, key);
    size_t length = 0;
    char* value = rocksdb_get(at->db, at->reads, key, KEY, &length, &err);
    check(err);
    if (length != VALUE) abort();
    free(value);
  }
  return at->rows;
}

static uint64_t get_pinned(struct place* at) {
  char key[KEY], *err = NULL;
  for (uint64_t i = 0; i < at->rows; i++) {
    key_of(at, i, key);
    rocksdb_pinnableslice_t* value = rocksdb_get_pinned(at->db, at->reads, key, KEY, &err);
    check(err);
    size_t length = 0;
    rocksdb_pinnableslice_value(value, &length);
    if (length != VALUE) abort();
    rocksdb_pinnableslice_destroy(value);
  }
  return at->rows;
}

static uint64_t step(struct place* at) {
  rocksdb_iterator_t* iter = rocksdb_create_iterator(at->db, at->reads);
  uint64_t steps = 0, bytes = 0;
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter); rocksdb_iter_next(iter)) {
    size_t key, value;
    rocksdb_iter_key(iter, &key);
    rocksdb_iter_value(iter, &value);
    bytes += key + value;
    steps++;
  }
  rocksdb_iter_destroy(iter);
  if (steps != at->rows || bytes != steps * (KEY + VALUE)) abort();
  return steps;
}

static const struct {
  const char* name;
  uint64_t (*run)(struct place*);
  int from_tables;
} operations[] = {
    {"put", put, 0},       {"batch", batch, 0},           {"get of a memtable", get, 0},
    {"get", get, 1},       {"get_pinned", get_pinned, 1}, {"iterator step", step, 1},
};

/* The part that is measured: callgrind counts its instructions by name. */
__attribute__((noinline)) static uint64_t measured(struct place* at, uint64_t (*run)(struct place*)) {
  uint64_t count = run(at);
  __asm__ volatile("" : : : "memory");
  return count;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  char* err = NULL;
  struct place at = {.rows = strtoull(argv[2], NULL, 10)};
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_options_set_write_buffer_size(options, (size_t)1 << 30);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_cache_t* cache = rocksdb_cache_create_lru((size_t)1 << 28);
  rocksdb_block_based_options_set_block_cache(table, cache);
  rocksdb_options_set_block_based_table_factory(options, table);
  at.reads = rocksdb_readoptions_create();
  at.writes = rocksdb_writeoptions_create();
  rocksdb_writeoptions_disable_WAL(at.writes, 1);
  at.db = rocksdb_open(options, argv[1], &err);
  check(err);
  put(&at);
  int in_tables = 0;
  for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
    if (argc > 3 && strcmp(argv[3], operations[i].name) != 0) continue;
    if (operations[i].from_tables && !in_tables) {
      rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
      rocksdb_flush(at.db, flush, &err);
      check(err);
      rocksdb_flushoptions_destroy(flush);
      rocksdb_compact_range(at.db, NULL, 0, NULL, 0);
      in_tables = 1;
    }
    /* The first pass fills caches. */
    operations[i].run(&at);
    double begin = seconds();
    uint64_t count = measured(&at, operations[i].run);
    printf("%s\t%.1f\n", operations[i].name, (seconds() - begin) * 1e9 / (double)count);
  }
  rocksdb_close(at.db);
  rocksdb_readoptions_destroy(at.reads);
  rocksdb_writeoptions_destroy(at.writes);
  rocksdb_block_based_options_destroy(table);
  rocksdb_cache_destroy(cache);
  rocksdb_options_destroy(options);
  return 0;
}
