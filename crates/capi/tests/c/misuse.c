/* Misuse that must be an error and not a crash: use after close, impossible lengths, functions that are not
   implemented. */
#include <stdint.h>

#include "check.h"

/* An impossible length has its own error. */
static void check_refused(char** err) {
  CHECK(*err != NULL && strncmp(*err, "Invalid argument: no buffer has a length of ", 44) == 0);
  free(*err);
  *err = NULL;
}

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

  /* A string with a million options, of which the last is not one. */
  const size_t million = 1000000;
  const char* entry = "write_buffer_size=1048576;";
  char* text = malloc(million * strlen(entry) + 16);
  for (size_t i = 0; i < million; i++) memcpy(text + i * strlen(entry), entry, strlen(entry));
  strcpy(text + million * strlen(entry), "no_option=1");
  rocksdb_options_t* parsed = rocksdb_options_create();
  rocksdb_get_options_from_string(options, text, parsed, &err);
  CHECK(err != NULL && strstr(err, "no_option") != NULL);
  free(err);
  err = NULL;
  text[million * strlen(entry)] = '\0';
  rocksdb_get_options_from_string(options, text, parsed, &err);
  CHECK_OK(err);
  CHECK(rocksdb_options_get_write_buffer_size(parsed) == 1048576);
  rocksdb_options_destroy(parsed);
  free(text);

  /* Only one object can have the database open. */
  rocksdb_t* second = rocksdb_open(options, argv[1], &err);
  CHECK(second == NULL && strncmp(err, "IO error: ", 10) == 0 && strstr(err, "LOCK") != NULL);
  /* An old error is freed by the next one. */
  second = rocksdb_open(options, argv[1], &err);
  CHECK(second == NULL && err != NULL);
  free(err);
  err = NULL;

  /* An impossible length is refused, and no byte is read. */
  const size_t impossible = (size_t)1 << 63;
  size_t length = 1;
  char* value = rocksdb_get(db, reads, "k", impossible, &length, &err);
  CHECK(value == NULL && length == 0);
  check_refused(&err);
  CHECK(rocksdb_get_pinned(db, reads, "k", impossible, &err) == NULL);
  check_refused(&err);
  rocksdb_put(db, writes, "k", impossible, "v", 1, &err);
  check_refused(&err);
  rocksdb_put(db, writes, "k", 1, "v", SIZE_MAX, &err);
  check_refused(&err);
  rocksdb_delete(db, writes, "k", impossible, &err);
  check_refused(&err);
  const char* keys[2] = {"k", "l"};
  size_t lengths[2] = {1, impossible}, sizes[2] = {9, 9};
  char *values[2] = {NULL, NULL}, *errors[2] = {NULL, NULL};
  rocksdb_multi_get(db, reads, 2, keys, lengths, values, sizes, errors);
  for (int i = 0; i < 2; i++) {
    CHECK(values[i] == NULL && sizes[i] == 0);
    check_refused(&errors[i]);
  }
  rocksdb_writebatch_t* refused = rocksdb_writebatch_create();
  rocksdb_writebatch_put(refused, "a", 1, "v", 1);
  rocksdb_writebatch_put(refused, "b", 1, "v", impossible);
  rocksdb_write(db, writes, refused, &err);
  check_refused(&err);
  rocksdb_writebatch_clear(refused);
  rocksdb_writebatch_put(refused, "a", 1, "v", 1);
  rocksdb_write(db, writes, refused, &err);
  CHECK_OK(err);
  rocksdb_writebatch_destroy(refused);
  rocksdb_writebatch_wi_t* index = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put(index, "c", impossible, "v", 1);
  rocksdb_write_writebatch_wi(db, writes, index, &err);
  CHECK(err != NULL);
  free(err);
  err = NULL;
  rocksdb_writebatch_wi_destroy(index);
  rocksdb_iterator_t* nowhere = rocksdb_create_iterator(db, reads);
  rocksdb_iter_seek(nowhere, "k", impossible);
  CHECK(!rocksdb_iter_valid(nowhere));
  rocksdb_iter_get_error(nowhere, &err);
  check_refused(&err);
  rocksdb_iter_destroy(nowhere);
  value = rocksdb_get(db, reads, "k", 1, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "v"));
  value = rocksdb_get(db, reads, NULL, 0, &length, &err);
  CHECK_OK(err);
  CHECK(value == NULL);

  /* A pinned value that is destroyed twice in a row is reported, and the next one is whole. */
  rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned(db, reads, "k", 1, &err);
  CHECK(pinned != NULL);
  rocksdb_pinnableslice_destroy(pinned);
  rocksdb_pinnableslice_destroy(pinned);
  pinned = rocksdb_get_pinned(db, reads, "k", 1, &err);
  rocksdb_pinnableslice_t* other = rocksdb_get_pinned(db, reads, "l", 1, &err);
  CHECK_OK(err);
  CHECK(pinned != NULL && other != NULL && pinned != other);
  rocksdb_pinnableslice_destroy(pinned);
  CHECK(rocksdb_pinnableslice_value(other, &length) != NULL && length == 1);
  rocksdb_pinnableslice_destroy(other);

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
