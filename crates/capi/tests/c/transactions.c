/* Transactions with locks, and optimistic ones: their reads, their conflicts, objects for rocksdb_free, and
   use after close. */
#include "check.h"

static int fails_with(char** err, const char* start) {
  int same = *err != NULL && strncmp(*err, start, strlen(start)) == 0;
  if (!same) fprintf(stderr, "%s\n", *err == NULL ? "no error" : *err);
  free(*err);
  *err = NULL;
  return same;
}

static void locks(const char* dir, rocksdb_options_t* options, rocksdb_writeoptions_t* writes,
                  rocksdb_readoptions_t* reads) {
  char* err = NULL;
  char* value = NULL;
  size_t length = 0;
  rocksdb_transactiondb_options_t* db_options = rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_options_set_transaction_lock_timeout(db_options, 0);
  rocksdb_transactiondb_options_set_num_stripes(db_options, (size_t)1 << 63);
  rocksdb_transaction_options_t* txn_options = rocksdb_transaction_options_create();
  rocksdb_transactiondb_t* db = rocksdb_transactiondb_open(options, db_options, dir, &err);
  CHECK_OK(err);

  /* A key that one transaction has locked cannot be locked by another. */
  rocksdb_transaction_t* one = rocksdb_transaction_begin(db, writes, txn_options, NULL);
  rocksdb_transaction_t* two = rocksdb_transaction_begin(db, writes, txn_options, NULL);
  rocksdb_transaction_put(one, "k", 1, "1", 1, &err);
  CHECK_OK(err);
  rocksdb_transaction_put(two, "k", 1, "2", 1, &err);
  CHECK(fails_with(&err, "Operation timed out: Timeout waiting to lock key"));

  /* The batch belongs to the transaction: rocksdb_free releases only the object, and so does its destructor.
     */
  rocksdb_writebatch_wi_t* batch = rocksdb_transaction_get_writebatch_wi(one);
  CHECK(rocksdb_writebatch_wi_count(batch) == 1);
  value = rocksdb_writebatch_wi_get_from_batch(batch, options, "k", 1, &length, &err);
  CHECK(is_value(value, length, "1"));
  rocksdb_writebatch_wi_put(batch, "unlocked", 8, "x", 1);
  rocksdb_free(batch);
  batch = rocksdb_transaction_get_writebatch_wi(one);
  CHECK(rocksdb_writebatch_wi_count(batch) == 2);
  rocksdb_transaction_rebuild_from_writebatch_wi(two, batch, &err);
  CHECK(fails_with(&err, "Operation timed out"));
  rocksdb_writebatch_wi_destroy(batch);

  /* A transaction without a snapshot returns an object that reads the newest state. */
  const rocksdb_snapshot_t* snapshot = rocksdb_transaction_get_snapshot(one);
  CHECK(snapshot != NULL);
  rocksdb_readoptions_set_snapshot(reads, snapshot);
  rocksdb_free((void*)snapshot);
  value = rocksdb_transaction_get(one, reads, "k", 1, &length, &err);
  CHECK(is_value(value, length, "1"));
  rocksdb_transaction_commit(one, &err);
  CHECK_OK(err);
  value = rocksdb_transactiondb_get(db, reads, "unlocked", 8, &length, &err);
  CHECK(is_value(value, length, "x"));

  /* With a snapshot, a later write of another transaction is a conflict. The snapshot keeps its state even
     after the transaction has released it. */
  rocksdb_transaction_options_set_set_snapshot(txn_options, 1);
  two = rocksdb_transaction_begin(db, writes, txn_options, two);
  rocksdb_transactiondb_put(db, writes, "k", 1, "3", 1, &err);
  CHECK_OK(err);
  rocksdb_transaction_put(two, "k", 1, "2", 1, &err);
  CHECK(fails_with(&err, "Resource busy: "));
  snapshot = rocksdb_transaction_get_snapshot(two);
  rocksdb_transaction_rollback(two, &err);
  CHECK_OK(err);
  two = rocksdb_transaction_begin(db, writes, txn_options, two);
  rocksdb_readoptions_set_snapshot(reads, snapshot);
  value = rocksdb_transactiondb_get(db, reads, "k", 1, &length, &err);
  CHECK(is_value(value, length, "1"));
  rocksdb_readoptions_set_snapshot(reads, NULL);
  rocksdb_free((void*)snapshot);

  /* A range deletion locks its range. */
  rocksdb_writebatch_t* range = rocksdb_writebatch_create();
  rocksdb_transactiondb_put(db, writes, "y", 1, "5", 1, &err);
  CHECK_OK(err);
  rocksdb_writebatch_delete_range(range, "x", 1, "z", 1);
  rocksdb_transactiondb_write(db, writes, range, &err);
  CHECK_OK(err);
  value = rocksdb_transactiondb_get(db, reads, "y", 1, &length, &err);
  CHECK(value == NULL && err == NULL);
  rocksdb_writebatch_destroy(range);

  /* A prepared transaction whose object is released is found again. */
  size_t count = 7;
  CHECK(rocksdb_transactiondb_get_prepared_transactions(db, &count) == NULL && count == 0);
  rocksdb_transaction_put(two, "p", 1, "4", 1, &err);
  CHECK_OK(err);
  rocksdb_transaction_set_name(two, "", 0, &err);
  CHECK(fails_with(&err, "Invalid argument: "));
  rocksdb_transaction_set_name(two, "two", 3, &err);
  CHECK_OK(err);
  rocksdb_transaction_prepare(two, &err);
  CHECK_OK(err);
  rocksdb_transaction_destroy(two);
  rocksdb_transaction_t** list = rocksdb_transactiondb_get_prepared_transactions(db, &count);
  CHECK(count == 1);
  value = rocksdb_transaction_get_name(list[0], &length);
  CHECK(is_value(value, length, "two"));
  rocksdb_transaction_commit(list[0], &err);
  CHECK_OK(err);
  rocksdb_transaction_destroy(list[0]);
  rocksdb_free(list);

  /* The base database: closing its object does not close the database. */
  rocksdb_t* base = rocksdb_transactiondb_get_base_db(db);
  value = rocksdb_get(base, reads, "p", 1, &length, &err);
  CHECK(is_value(value, length, "4"));
  rocksdb_transactiondb_close_base_db(base);
  base = rocksdb_transactiondb_get_base_db(db);

  /* Objects that outlive the database return errors, and cause no other harm. */
  one = rocksdb_transaction_begin(db, writes, txn_options, one);
  rocksdb_transaction_put(one, "q", 1, "5", 1, &err);
  CHECK_OK(err);
  rocksdb_iterator_t* iter = rocksdb_transaction_create_iterator(one, reads);
  rocksdb_iter_seek_to_first(iter);
  CHECK(rocksdb_iter_valid(iter));
  rocksdb_transactiondb_close(db);
  rocksdb_transaction_commit(one, &err);
  CHECK(err != NULL);
  free(err);
  err = NULL;
  rocksdb_iter_seek_to_first(iter);
  CHECK(!rocksdb_iter_valid(iter));
  rocksdb_iter_destroy(iter);
  rocksdb_transaction_destroy(one);
  rocksdb_put(base, writes, "k", 1, "6", 1, &err);
  CHECK(err != NULL);
  free(err);
  err = NULL;
  rocksdb_transactiondb_close_base_db(base);
  rocksdb_transactiondb_close(NULL);
  rocksdb_transaction_options_destroy(txn_options);
  rocksdb_transactiondb_options_destroy(db_options);
}

/* The functions of any database on databases with transactions: in RocksDB these are derived from the class of any,
   and the Rust crate casts their pointers. Rows pass through the locks. */
static void casts(const char* dir, rocksdb_options_t* options, rocksdb_writeoptions_t* writes,
                  rocksdb_readoptions_t* reads) {
  char* err = NULL;
  size_t length = 0;
  rocksdb_transactiondb_options_t* db_options = rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_options_set_default_lock_timeout(db_options, 0);
  rocksdb_transaction_options_t* txn_options = rocksdb_transaction_options_create();
  rocksdb_transactiondb_t* locking = rocksdb_transactiondb_open(options, db_options, dir, &err);
  CHECK_OK(err);
  rocksdb_t* db = (rocksdb_t*)locking;

  /* A family that one kind of function creates, another drops, with its locks. */
  rocksdb_column_family_handle_t* family = rocksdb_create_column_family(db, options, "one", &err);
  CHECK_OK(err);
  rocksdb_transaction_t* txn = rocksdb_transaction_begin(locking, writes, txn_options, NULL);
  rocksdb_transaction_put_cf(txn, family, "k", 1, "1", 1, &err);
  CHECK_OK(err);
  rocksdb_put_cf(db, writes, family, "k", 1, "2", 1, &err);
  CHECK(fails_with(&err, "Operation timed out: "));
  rocksdb_delete_cf(db, writes, family, "k", 1, &err);
  CHECK(fails_with(&err, "Operation timed out: "));
  rocksdb_singledelete_cf(db, writes, family, "k", 1, &err);
  CHECK(fails_with(&err, "Operation timed out: "));
  rocksdb_delete_range_cf(db, writes, family, "a", 1, "z", 1, &err);
  CHECK(fails_with(&err, "Operation timed out: "));
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put_cf(batch, family, "k", 1, "3", 1);
  rocksdb_write(db, writes, batch, &err);
  CHECK(fails_with(&err, "Operation timed out: "));
  rocksdb_writebatch_wi_t* index = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put_cf(index, family, "k", 1, "4", 1);
  rocksdb_write_writebatch_wi(db, writes, index, &err);
  CHECK(fails_with(&err, "Operation timed out: "));
  rocksdb_writebatch_wi_destroy(index);
  rocksdb_put_cf_with_ts(db, writes, family, "k", 1, "timestam", 8, "5", 1, &err);
  CHECK(fails_with(&err, "Not implemented: Write operation with user timestamp"));
  rocksdb_transaction_commit(txn, &err);
  CHECK_OK(err);
  rocksdb_write(db, writes, batch, &err);
  CHECK_OK(err);
  char* value = rocksdb_get_cf(db, reads, family, "k", 1, &length, &err);
  CHECK(is_value(value, length, "3"));
  rocksdb_drop_column_family(db, family, &err);
  CHECK_OK(err);
  rocksdb_column_family_handle_destroy(family);

  /* Names, properties, flushes, compactions, checkpoints and iterators. */
  const char* names[] = {"two", "three"};
  rocksdb_column_family_handle_t** families = rocksdb_create_column_families(db, options, 2, names, &length, &err);
  CHECK_OK(err);
  CHECK(length == 2);
  rocksdb_transactiondb_put_cf(locking, writes, families[1], "k", 1, "6", 1, &err);
  CHECK_OK(err);
  rocksdb_column_family_handle_destroy(families[0]);
  rocksdb_column_family_handle_destroy(families[1]);
  rocksdb_create_column_families_destroy(families);
  rocksdb_put(db, writes, "k", 1, "7", 1, &err);
  CHECK_OK(err);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush, &err);
  CHECK_OK(err);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  value = rocksdb_property_value(db, "rocksdb.num-files-at-level1");
  CHECK(value != NULL);
  free(value);
  CHECK(rocksdb_get_latest_sequence_number(db) > 0);
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  rocksdb_iter_seek(iter, "k", 1);
  CHECK(rocksdb_iter_valid(iter));
  rocksdb_iter_destroy(iter);
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  rocksdb_transactiondb_release_snapshot(locking, snapshot);

  /* The base database takes no locks, and neither begins transactions. */
  txn = rocksdb_transaction_begin(locking, writes, txn_options, txn);
  rocksdb_transaction_put(txn, "k", 1, "8", 1, &err);
  CHECK_OK(err);
  rocksdb_t* base = rocksdb_transactiondb_get_base_db(locking);
  rocksdb_put(base, writes, "k", 1, "9", 1, &err);
  CHECK_OK(err);
  CHECK(rocksdb_transaction_begin((rocksdb_transactiondb_t*)base, writes, txn_options, NULL) == NULL);
  length = 7;
  CHECK(rocksdb_transactiondb_get_prepared_transactions((rocksdb_transactiondb_t*)base, &length) == NULL);
  CHECK(length == 0);
  rocksdb_transactiondb_close_base_db(base);
  rocksdb_transaction_destroy(txn);
  rocksdb_close(db);
  rocksdb_destroy_db(options, dir, &err);
  CHECK_OK(err);

  /* The same of optimistic ones. */
  rocksdb_optimistictransaction_options_t* optimistic_options = rocksdb_optimistictransaction_options_create();
  rocksdb_optimistictransactiondb_t* optimistic = rocksdb_optimistictransactiondb_open(options, dir, &err);
  CHECK_OK(err);
  db = (rocksdb_t*)optimistic;
  family = rocksdb_create_column_family(db, options, "one", &err);
  CHECK_OK(err);
  txn = rocksdb_optimistictransaction_begin(optimistic, writes, optimistic_options, NULL);
  rocksdb_transaction_put_cf(txn, family, "k", 1, "1", 1, &err);
  CHECK_OK(err);
  rocksdb_put_cf(db, writes, family, "k", 1, "2", 1, &err);
  CHECK_OK(err);
  rocksdb_transaction_commit(txn, &err);
  CHECK(fails_with(&err, "Resource busy: "));
  rocksdb_delete_range_cf(db, writes, family, "a", 1, "z", 1, &err);
  CHECK(fails_with(&err, "Not implemented: "));
  rocksdb_writebatch_clear(batch);
  rocksdb_writebatch_delete_range_cf(batch, family, "a", 1, "z", 1);
  rocksdb_write(db, writes, batch, &err);
  CHECK(fails_with(&err, "Not implemented: "));
  value = rocksdb_get_cf(db, reads, family, "k", 1, &length, &err);
  CHECK(is_value(value, length, "2"));
  rocksdb_drop_column_family(db, family, &err);
  CHECK_OK(err);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_transaction_destroy(txn);
  rocksdb_close(db);
  rocksdb_destroy_db(options, dir, &err);
  CHECK_OK(err);

  rocksdb_writebatch_destroy(batch);
  rocksdb_optimistictransaction_options_destroy(optimistic_options);
  rocksdb_transaction_options_destroy(txn_options);
  rocksdb_transactiondb_options_destroy(db_options);
}

static void validation(const char* dir, rocksdb_options_t* options, rocksdb_writeoptions_t* writes,
                       rocksdb_readoptions_t* reads) {
  char* err = NULL;
  char* value = NULL;
  size_t length = 0;
  rocksdb_optimistictransaction_options_t* txn_options = rocksdb_optimistictransaction_options_create();
  rocksdb_optimistictransactiondb_t* db = rocksdb_optimistictransactiondb_open(options, dir, &err);
  CHECK_OK(err);
  rocksdb_t* base = rocksdb_optimistictransactiondb_get_base_db(db);
  rocksdb_transaction_t* one = rocksdb_optimistictransaction_begin(db, writes, txn_options, NULL);
  free(rocksdb_transaction_get_for_update(one, reads, "k", 1, &length, 1, &err));
  CHECK_OK(err);
  rocksdb_transaction_put(one, "m", 1, "1", 1, &err);
  CHECK_OK(err);
  rocksdb_put(base, writes, "k", 1, "2", 1, &err);
  CHECK_OK(err);
  rocksdb_transaction_commit(one, &err);
  CHECK(fails_with(&err, "Resource busy: "));
  value = rocksdb_get(base, reads, "m", 1, &length, &err);
  CHECK(is_value(value, length, NULL));
  rocksdb_transaction_rollback(one, &err);
  CHECK_OK(err);
  rocksdb_transaction_put(one, "m", 1, "1", 1, &err);
  rocksdb_transaction_commit(one, &err);
  CHECK_OK(err);
  value = rocksdb_get(base, reads, "m", 1, &length, &err);
  CHECK(is_value(value, length, "1"));
  rocksdb_transaction_prepare(one, &err);
  CHECK(fails_with(&err, "Invalid argument: "));
  rocksdb_transaction_destroy(one);
  rocksdb_optimistictransactiondb_close_base_db(base);
  rocksdb_optimistictransactiondb_close(db);
  rocksdb_optimistictransaction_options_destroy(txn_options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char dir[4096];
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  locks(argv[1], options, writes, reads);
  snprintf(dir, sizeof(dir), "%s-optimistic", argv[1]);
  validation(dir, options, writes, reads);
  snprintf(dir, sizeof(dir), "%s-casts", argv[1]);
  casts(dir, options, writes, reads);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
