/* Misuse that must be an error and not a crash: use after close, impossible lengths, functions that are not
   implemented. */
#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_put(db, writes, "k", 1, "v", 1, &err);
  rocksdb_put(db, writes, "l", 1, "v", 1, &err);
  CHECK_OK(err);

  /* Only one object can have the database open. */
  rocksdb_t* second = rocksdb_open(options, argv[1], &err);
  CHECK(second == NULL && strncmp(err, "IO error: ", 10) == 0 && strstr(err, "LOCK") != NULL);
  /* An old error is freed by the next one. */
  second = rocksdb_open(options, argv[1], &err);
  CHECK(second == NULL && err != NULL);
  free(err);
  err = NULL;

  /* An impossible length is an empty key, and no byte is read. */
  size_t length = 1;
  char* value = rocksdb_get(db, reads, "k", (size_t)1 << 63, &length, &err);
  CHECK_OK(err);
  CHECK(value == NULL && length == 0);
  value = rocksdb_get(db, reads, NULL, 0, &length, &err);
  CHECK_OK(err);
  CHECK(value == NULL);

  /* An iterator, a snapshot and a family handle outlive the database. */
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  rocksdb_column_family_handle_t* cf = rocksdb_create_column_family(db, options, "other", &err);
  CHECK_OK(err);
  rocksdb_iter_seek_to_first(iter);
  CHECK(rocksdb_iter_valid(iter));
  rocksdb_close(db);
  rocksdb_iter_seek_to_first(iter);
  rocksdb_iter_next(iter);
  rocksdb_iter_get_error(iter, &err);
  free(err);
  err = NULL;
  rocksdb_iter_destroy(iter);
  rocksdb_release_snapshot(NULL, snapshot);
  rocksdb_column_family_handle_destroy(cf);

  /* The directory is unlocked, although handles exist. */
  rocksdb_destroy_db(options, argv[1], &err);
  CHECK_OK(err);

  /* Destroying NULL has no effect. */
  rocksdb_iter_destroy(NULL);
  rocksdb_options_destroy(NULL);
  rocksdb_pinnableslice_destroy(NULL);
  rocksdb_close(NULL);

  /* An invalid batch reports its error when it is written. */
  db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_from("no batch", 8);
  rocksdb_write(db, writes, batch, &err);
  CHECK(err != NULL && strncmp(err, "Corruption", 10) == 0);
  free(err);
  err = NULL;
  rocksdb_writebatch_destroy(batch);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
