/* A program that forks: the database stays the parent's. In a child, functions that take it are refused, and closing it
   touches neither its files nor its lock. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void check_value(rocksdb_t* db, const char* key, const char* wanted) {
  char* err = NULL;
  size_t length;
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  char* value = rocksdb_get(db, reads, key, strlen(key), &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, wanted));
  rocksdb_readoptions_destroy(reads);
}

static void check_refused(char** err) {
  CHECK(*err != NULL && strstr(*err, "opened before a fork") != NULL);
  free(*err);
  *err = NULL;
}

/* Waits for a child, which a deadlock would stop by an alarm. */
static void check_child(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char txns[512];
  snprintf(txns, sizeof(txns), "%s-transactions", argv[1]);
  char* err = NULL;
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_put(db, writes, "k", 1, "parent", 6, &err);
  CHECK_OK(err);
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  rocksdb_transactiondb_options_t* txn_db_options = rocksdb_transactiondb_options_create();
  rocksdb_transaction_options_t* txn_options = rocksdb_transaction_options_create();
  rocksdb_transactiondb_t* txn_db = rocksdb_transactiondb_open(options, txn_db_options, txns, &err);
  CHECK_OK(err);
  rocksdb_transaction_t* txn = rocksdb_transaction_begin(txn_db, writes, txn_options, NULL);
  rocksdb_transaction_put(txn, "t", 1, "v", 1, &err);
  CHECK_OK(err);

  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    rocksdb_put(db, writes, "k", 1, "child", 5, &err);
    check_refused(&err);
    size_t length;
    CHECK(rocksdb_get(db, reads, "k", 1, &length, &err) == NULL);
    check_refused(&err);
    rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
    rocksdb_flush(db, flush, &err);
    check_refused(&err);
    rocksdb_flushoptions_destroy(flush);
    rocksdb_transaction_commit(txn, &err);
    check_refused(&err);
    rocksdb_t* again = rocksdb_open(options, argv[1], &err);
    CHECK(again == NULL && strstr(err, "LOCK") != NULL);
    free(err);
    err = NULL;
    rocksdb_transaction_destroy(txn);
    rocksdb_transactiondb_close(txn_db);
    rocksdb_iter_destroy(iter);
    rocksdb_release_snapshot(db, snapshot);
    rocksdb_close(db);
    exit(0);
  }
  check_child(child);

  /* The lock is the parent's still, also after the child has closed the database. */
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    rocksdb_t* again = rocksdb_open(options, argv[1], &err);
    CHECK(again == NULL && strstr(err, "LOCK") != NULL);
    free(err);
    /* The program goes, without a word to the library. */
    exit(0);
  }
  check_child(child);
  check_value(db, "k", "parent");
  rocksdb_put(db, writes, "l", 1, "later", 5, &err);
  CHECK_OK(err);
  rocksdb_transaction_commit(txn, &err);
  CHECK_OK(err);
  rocksdb_transaction_destroy(txn);
  rocksdb_transactiondb_close(txn_db);
  rocksdb_iter_seek_to_first(iter);
  CHECK(rocksdb_iter_valid(iter));
  rocksdb_iter_destroy(iter);
  rocksdb_release_snapshot(db, snapshot);

  /* While a child lives that has done nothing, the parent closes and opens again. */
  int ends[2];
  CHECK(pipe(ends) == 0);
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    close(ends[1]);
    char byte;
    CHECK(read(ends[0], &byte, 1) == 0);
    _exit(0);
  }
  close(ends[0]);
  rocksdb_close(db);
  db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  check_value(db, "k", "parent");
  check_value(db, "l", "later");
  rocksdb_close(db);
  close(ends[1]);
  check_child(child);

  rocksdb_transaction_options_destroy(txn_options);
  rocksdb_transactiondb_options_destroy(txn_db_options);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
