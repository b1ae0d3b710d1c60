/* Timestamps of transactions: those that RocksDB refuses are reported, families with timestamps are refused. */
#include "check.h"

static void nothing(void* state) { (void)state; }

static const char* name(void* state) {
  (void)state;
  return "test.stamped";
}

/* Keys of one byte before 8 bytes of a timestamp. */
static int compare(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state, (void)alen, (void)blen;
  return memcmp(a, b, 9);
}

static int compare_timestamps(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state, (void)alen, (void)blen;
  return memcmp(a, b, 8);
}

static int compare_without(void* state, const char* a, size_t alen, unsigned char a_has, const char* b, size_t blen,
                           unsigned char b_has) {
  (void)state, (void)alen, (void)a_has, (void)blen, (void)b_has;
  return memcmp(a, b, 1);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_transactiondb_options_t* db_options = rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_t* db = rocksdb_transactiondb_open(options, db_options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_comparator_t* order =
      rocksdb_comparator_with_ts_create(NULL, nothing, compare, compare_timestamps, compare_without, name, 8);
  rocksdb_options_t* stamped = rocksdb_options_create();
  rocksdb_options_set_comparator(stamped, order);
  rocksdb_column_family_handle_t* family = rocksdb_transactiondb_create_column_family(db, stamped, "stamped", &err);
  CHECK_OK(err);
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_transaction_options_t* begin = rocksdb_transaction_options_create();
  rocksdb_transaction_t* txn = rocksdb_transaction_begin(db, writes, begin, NULL);

  rocksdb_transaction_set_read_timestamp_for_validation(txn, 5);
  rocksdb_transaction_set_commit_timestamp(txn, 5);              /* refused: not after the reads */
  rocksdb_transaction_set_read_timestamp_for_validation(txn, 4); /* refused: it decreases */
  rocksdb_transaction_set_read_timestamp_for_validation(txn, 6);
  rocksdb_transaction_set_commit_timestamp(txn, 7);
  rocksdb_transaction_put_cf(txn, family, "k", 1, "v", 1, &err);
  CHECK(err != NULL && strncmp(err, "Not implemented: ", 17) == 0 && strstr(err, "stamped") != NULL);
  free(err);
  err = NULL;
  /* A family without timestamps takes the commit as it is. */
  rocksdb_transaction_put(txn, "k", 1, "v", 1, &err);
  CHECK_OK(err);
  rocksdb_transaction_commit(txn, &err);
  CHECK_OK(err);

  /* A transaction that begins again in the same object has none. */
  txn = rocksdb_transaction_begin(db, writes, begin, txn);
  rocksdb_transaction_set_commit_timestamp(txn, 1);
  rocksdb_transaction_set_read_timestamp_for_validation(txn, 0);
  rocksdb_transaction_set_commit_timestamp(txn, 0); /* refused */
  rocksdb_transaction_rollback(txn, &err);
  CHECK_OK(err);

  rocksdb_transaction_destroy(txn);
  rocksdb_transaction_options_destroy(begin);
  rocksdb_writeoptions_destroy(writes);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_transactiondb_close(db);
  rocksdb_options_destroy(stamped);
  rocksdb_comparator_destroy(order);
  rocksdb_transactiondb_options_destroy(db_options);
  rocksdb_options_destroy(options);
  return 0;
}
