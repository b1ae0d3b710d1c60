// One turn at a database. argv[1] is its directory, argv[2] the number of the turn. The number of a turn
// determines its writes: this turn computes those of earlier turns, compares every row of both families with
// them, by iterators in both directions and by Gets, and then writes its own. Five turns of seven open the
// database for transactions: they prepare some, which a later turn commits, rolls back or leaves to the next
// one. The last of these five ends all of them, because a plain open refuses WALs with prepared transactions.
// The other two read the last updates from WALs and their archive, and compact. Some turns end like a killed
// process: writes without a sync survive nevertheless.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocksdb/c.h"

// The keys from WRITTEN on are those of transactions.
enum { WRITTEN = 1500, KEYS = 2400, FAMILIES = 2, OPERATIONS = 120, LONGEST = 900 };
enum { PREPARED = 2, ROWS = 3, MOST = 300 };
enum { TURNS = 7, LAST_WITH_TRANSACTIONS = 4 };

// The number of the write that set a row's value; 0 if the row is absent.
static uint64_t expected[FAMILIES][KEYS];

// The numbers of the prepared transactions that no turn has ended.
static uint64_t outstanding[MOST];
static size_t outstanding_count = 0;

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

// One of the two is open.
struct database {
  rocksdb_transactiondb_t* transactions;
  rocksdb_t* db;
  rocksdb_column_family_handle_t* families[FAMILIES];
  rocksdb_writeoptions_t* write;
};

static void write_batch(struct database* to, rocksdb_writebatch_t* batch) {
  if (to->transactions == NULL) rocksdb_write(to->db, to->write, batch, &error);
  else rocksdb_transactiondb_write(to->transactions, to->write, batch, &error);
  check("write");
  rocksdb_writebatch_clear(batch);
}

// Adds the deletion of the keys from `start` to `end`, exclusive. A batch of RocksDB's TransactionDB may have no
// range deletion.
static void delete_range(struct database* to, rocksdb_writebatch_t* batch, uint64_t family, uint64_t start, uint64_t end) {
  char key[16], last[16];
  if (to->transactions == NULL) {
    size_t length = key_of(start, key);
    rocksdb_writebatch_delete_range_cf(batch, to->families[family], key, length, last, key_of(end, last));
    return;
  }
  for (uint64_t number = start; number < end; number++)
    rocksdb_writebatch_delete_cf(batch, to->families[family], key, key_of(number, key));
}

static size_t name_of(uint64_t number, char* out) { return (size_t)sprintf(out, "turn%llu", (unsigned long long)number); }

// The first key and the family of the rows of a transaction.
static uint64_t first_row(uint64_t number) { return WRITTEN + number % MOST * ROWS; }
static uint64_t family_of(uint64_t number) { return number % FAMILIES; }

// The prepared transactions as the database lists them after its open.
static rocksdb_transaction_t** listed = NULL;
static size_t listed_count = 0;

// Returns the prepared transaction of that name, which must exist.
static rocksdb_transaction_t* prepared(uint64_t number) {
  char name[32];
  size_t length = name_of(number, name);
  for (size_t at = 0; at < listed_count; at++) {
    size_t found_length;
    char* found = rocksdb_transaction_get_name(listed[at], &found_length);
    int is_it = found_length == length && memcmp(found, name, length) == 0;
    rocksdb_free(found);
    if (is_it) return listed[at];
  }
  fail("a prepared transaction is lost", name);
  return NULL;
}

// Ends a third of the outstanding transactions by a commit and a third by a rollback, and prepares new ones.
static void play_transactions(uint64_t turn, struct database* to) {
  state = turn * 104729 + 3;
  char key[16], value[LONGEST], name[32];
  size_t kept = 0;
  for (size_t at = 0; at < outstanding_count; at++) {
    uint64_t number = outstanding[at], fate = next(turn % TURNS == LAST_WITH_TRANSACTIONS ? 2 : 3);
    if (fate == 2) {
      outstanding[kept++] = number;
      continue;
    }
    for (uint64_t row = 0; fate == 0 && row < ROWS; row++)
      expected[family_of(number)][first_row(number) + row] = number * ROWS + row + 1;
    if (to != NULL) {
      rocksdb_transaction_t* transaction = prepared(number);
      fate == 0 ? rocksdb_transaction_commit(transaction, &error) : rocksdb_transaction_rollback(transaction, &error);
      check("the end of a transaction");
    }
  }
  outstanding_count = kept;
  if (turn % TURNS >= LAST_WITH_TRANSACTIONS) return;
  for (uint64_t at = 0; at < PREPARED; at++) {
    uint64_t number = turn * PREPARED + at;
    outstanding[outstanding_count++] = number;
    if (to == NULL) continue;
    rocksdb_transaction_options_t* options = rocksdb_transaction_options_create();
    rocksdb_transaction_t* transaction = rocksdb_transaction_begin(to->transactions, to->write, options, NULL);
    rocksdb_transaction_set_name(transaction, name, name_of(number, name), &error);
    check("a name");
    for (uint64_t row = 0; row < ROWS; row++) {
      size_t length = key_of(first_row(number) + row, key);
      size_t value_length = value_of(number * ROWS + row + 1, value);
      rocksdb_transaction_put_cf(transaction, to->families[family_of(number)], key, length, value, value_length, &error);
      check("a write of a transaction");
    }
    rocksdb_transaction_prepare(transaction, &error);
    check("prepare");
    rocksdb_transaction_options_destroy(options);
  }
}

// Reads the updates of this turn, and of the one before if that was a plain turn too: its WALs are archived.
// `place` has the number of the first of them. RocksDB's readers of updates do not get past WALs with
// transactions.
static void read_updates(struct database* in, uint64_t turn, const char* place, uint64_t before) {
  if (in->db == NULL) return;
  int is_first = turn % TURNS == LAST_WITH_TRANSACTIONS + 1;
  FILE* file = fopen(place, is_first ? "w" : "r");
  if (file == NULL) fail("no file", place);
  unsigned long long first = before + 1;
  if (is_first) fprintf(file, "%llu\n", first);
  else if (fscanf(file, "%llu", &first) != 1) fail("no number", place);
  fclose(file);
  rocksdb_wal_iterator_t* updates = rocksdb_get_updates_since(in->db, first, NULL, &error);
  check("updates");
  uint64_t expected_number = first;
  while (rocksdb_wal_iter_valid(updates)) {
    uint64_t number;
    rocksdb_writebatch_t* batch = rocksdb_wal_iter_get_batch(updates, &number);
    if (number != expected_number) fail("updates are missing", NULL);
    expected_number += (uint64_t)rocksdb_writebatch_count(batch);
    rocksdb_writebatch_destroy(batch);
    rocksdb_wal_iter_next(updates);
  }
  rocksdb_wal_iter_status(updates, &error);
  check("the end of updates");
  if (expected_number != rocksdb_get_latest_sequence_number(in->db) + 1) fail("the last updates are missing", NULL);
  rocksdb_wal_iter_destroy(updates);
}

// Makes the writes of a turn; without a database they are only recorded.
static void play(uint64_t turn, struct database* to) {
  state = turn * 7919 + 1;
  char key[16], value[LONGEST];
  rocksdb_writebatch_t* batch = to == NULL ? NULL : rocksdb_writebatch_create();
  for (uint64_t operation = 0; operation < OPERATIONS; operation++) {
    uint64_t write = turn * OPERATIONS + operation + 1;
    uint64_t family = next(FAMILIES), number = next(WRITTEN), kind = next(20);
    size_t length = key_of(number, key);
    if (kind == 0) {
      uint64_t end = number + 1 + next(30);
      if (end > WRITTEN) end = WRITTEN;
      for (uint64_t gone = number; gone < end; gone++) expected[family][gone] = 0;
      if (to != NULL) delete_range(to, batch, family, number, end);
    } else if (kind < 6) {
      expected[family][number] = 0;
      if (to != NULL) rocksdb_writebatch_delete_cf(batch, to->families[family], key, length);
    } else {
      expected[family][number] = write;
      if (to != NULL)
        rocksdb_writebatch_put_cf(batch, to->families[family], key, length, value, value_of(write, value));
    }
    if (to != NULL && (operation % 7 == 6 || operation + 1 == OPERATIONS)) write_batch(to, batch);
  }
  if (batch != NULL) rocksdb_writebatch_destroy(batch);
  play_transactions(turn, to);
}

static void same(const char* where, const char* found, size_t found_length, const char* wanted, size_t wanted_length) {
  if (found_length != wanted_length || memcmp(found, wanted, wanted_length) != 0) fail("another row", where);
}

static void compare(struct database* in) {
  char key[16], value[LONGEST];
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  for (int family = 0; family < FAMILIES; family++) {
    for (int backwards = 0; backwards < 2; backwards++) {
      rocksdb_iterator_t* rows =
          in->transactions == NULL
              ? rocksdb_create_iterator_cf(in->db, read, in->families[family])
              : rocksdb_transactiondb_create_iterator_cf(in->transactions, read, in->families[family]);
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
      char* data =
          in->transactions == NULL
              ? rocksdb_get_cf(in->db, read, in->families[family], key, length, &found, &error)
              : rocksdb_transactiondb_get_cf(in->transactions, read, in->families[family], key, length, &found, &error);
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
  rocksdb_options_set_WAL_ttl_seconds(options, 24 * 60 * 60);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  if (turn / 2 % 3 == 1) rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
  if (turn / 2 % 3 == 2) rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_ribbon(10));
  rocksdb_options_set_block_based_table_factory(options, table);

  struct database at;
  const char* names[FAMILIES] = {"default", "other"};
  const rocksdb_options_t* each[FAMILIES] = {options, options};
  at.db = NULL;
  at.transactions = NULL;
  rocksdb_transactiondb_options_t* locks = rocksdb_transactiondb_options_create();
  if (turn % TURNS > LAST_WITH_TRANSACTIONS)
    at.db = rocksdb_open_column_families(options, argv[1], FAMILIES, names, each, at.families, &error);
  else
    at.transactions =
        rocksdb_transactiondb_open_column_families(options, locks, argv[1], FAMILIES, names, each, at.families, &error);
  check("open");
  at.write = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(at.write, turn % 5 == 0);
  compare(&at);
  if (at.transactions != NULL) listed = rocksdb_transactiondb_get_prepared_transactions(at.transactions, &listed_count);
  if (listed_count != outstanding_count) fail("another number of prepared transactions", argv[2]);
  uint64_t before = at.db == NULL ? 0 : rocksdb_get_latest_sequence_number(at.db);
  play(turn, &at);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  for (int family = 0; family < FAMILIES; family++) {
    if (turn % TURNS == LAST_WITH_TRANSACTIONS || (turn + (uint64_t)family) % 4 == 0) {
      if (at.db != NULL) rocksdb_flush_cf(at.db, flush, at.families[family], &error);
      else rocksdb_transactiondb_flush_cf(at.transactions, flush, at.families[family], &error);
      check("flush");
    }
    if (at.db != NULL && turn % 9 >= 6) rocksdb_compact_range_cf(at.db, at.families[family], NULL, 0, NULL, 0);
  }
  compare(&at);
  char place[4096];
  snprintf(place, sizeof(place), "%s.updates", argv[1]);
  read_updates(&at, turn, place, before);
  // Ends like a killed process, without a close or a destructor.
  if (turn / 2 % 3 == 0) _exit(0);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_writeoptions_destroy(at.write);
  for (int family = 0; family < FAMILIES; family++) rocksdb_column_family_handle_destroy(at.families[family]);
  if (at.db != NULL) rocksdb_close(at.db);
  else rocksdb_transactiondb_close(at.transactions);
  rocksdb_transactiondb_options_destroy(locks);
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_destroy(options);
  return 0;
}
