/* Rows, batches, families, snapshots, iterators. */
#include "check.h"

static rocksdb_readoptions_t* reads;
static rocksdb_writeoptions_t* writes;

static void check_get(rocksdb_t* db, const char* key, const char* wanted) {
  char* err = NULL;
  size_t length = 77;
  char* value = rocksdb_get(db, reads, key, strlen(key), &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, wanted));
}

static void put(rocksdb_t* db, const char* key, const char* value) {
  char* err = NULL;
  rocksdb_put(db, writes, key, strlen(key), value, strlen(value), &err);
  CHECK_OK(err);
}

static void single_rows(rocksdb_t* db) {
  char* err = NULL;
  check_get(db, "a", NULL);
  put(db, "a", "1");
  put(db, "empty", "");
  check_get(db, "a", "1");
  check_get(db, "empty", "");
  rocksdb_delete(db, writes, "a", 1, &err);
  CHECK_OK(err);
  check_get(db, "a", NULL);
  /* A pinned value, and one that does not fit into the buffer. */
  put(db, "pinned", "where it lies");
  size_t length = 0;
  rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned(db, reads, "pinned", 6, &err);
  CHECK_OK(err);
  const char* value = rocksdb_pinnableslice_value(pinned, &length);
  CHECK(length == 13 && memcmp(value, "where it lies", 13) == 0);
  rocksdb_pinnableslice_destroy(pinned);
  /* Two kinds of objects, alive at once, in the memory of each other. */
  rocksdb_pinnable_handle_t* handle = rocksdb_get_pinned_v2(db, reads, "pinned", 6, &err);
  pinned = rocksdb_get_pinned(db, reads, "empty", 5, &err);
  CHECK_OK(err);
  CHECK(rocksdb_get_pinned(db, reads, "none", 4, &err) == NULL);
  CHECK_OK(err);
  value = rocksdb_pinnable_handle_get_value(handle, &length);
  CHECK(length == 13 && memcmp(value, "where it lies", 13) == 0);
  CHECK(rocksdb_pinnableslice_value(pinned, &length) != NULL && length == 0);
  rocksdb_pinnable_handle_destroy(handle);
  rocksdb_pinnableslice_destroy(pinned);
  /* An iterator has a row only between a move to one and the next move. */
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  CHECK(!rocksdb_iter_valid(iter) && rocksdb_iter_value(iter, NULL) == NULL);
  rocksdb_iter_seek(iter, "pinned", 6);
  CHECK(rocksdb_iter_valid(iter) && rocksdb_iter_key(iter, NULL) != NULL);
  value = rocksdb_iter_value(iter, &length);
  CHECK(length == 13 && memcmp(value, "where it lies", 13) == 0);
  rocksdb_iter_refresh(iter, &err);
  CHECK_OK(err);
  CHECK(!rocksdb_iter_valid(iter) && rocksdb_iter_key(iter, &length) == NULL && length == 0);
  rocksdb_iter_seek(iter, "pinned", 6);
  CHECK(rocksdb_iter_valid(iter));
  rocksdb_iter_next(iter);
  length = 77;
  CHECK(!rocksdb_iter_valid(iter) && rocksdb_iter_value(iter, &length) == NULL && length == 0);
  rocksdb_iter_destroy(iter);
  char small[4];
  unsigned char found = 0;
  CHECK(rocksdb_get_into_buffer(db, reads, "pinned", 6, small, sizeof(small), &length, &found, &err) == 0);
  CHECK(found == 1 && length == 13);
}

/* Values and errors of many keys with one owner. */
static void pinned_multi_get(rocksdb_t* db) {
  put(db, "m1", "first");
  put(db, "m2", "");
  const rocksdb_slice_t keys[] = {{"m2", 2}, {"m1", 2}, {"none", 4}, {"m1", 2}};
  rocksdb_pinnable_multi_get_t* results =
      rocksdb_batched_multi_get_pinned_cf(db, reads, NULL, 4, keys, 0);
  CHECK(rocksdb_pinnable_multi_get_count(results) == 4);
  const char* wanted[] = {"", "first", NULL, "first"};
  const char *value, *error;
  size_t value_size, error_size;
  for (size_t i = 0; i < 4; i++) {
    value = error = "left";
    value_size = error_size = 77;
    int state = rocksdb_pinnable_multi_get_result(results, i, &value, &value_size, &error, &error_size);
    CHECK(error == NULL && error_size == 0);
    if (wanted[i] == NULL) {
      CHECK(state == rocksdb_pinnable_multi_get_not_found && value == NULL && value_size == 0);
    } else {
      CHECK(state == rocksdb_pinnable_multi_get_found && value_size == strlen(wanted[i]));
      CHECK(memcmp(value, wanted[i], value_size) == 0);
    }
  }
  CHECK(rocksdb_pinnable_multi_get_result(results, 4, &value, &value_size, &error, &error_size) ==
        rocksdb_pinnable_multi_get_out_of_bounds);
  CHECK(value == NULL && error == NULL);
  CHECK(rocksdb_pinnable_multi_get_result(results, 1, NULL, NULL, NULL, NULL) ==
        rocksdb_pinnable_multi_get_found);
  rocksdb_pinnable_multi_get_destroy(results);
  /* A read whose time is over has an error for each key. */
  rocksdb_readoptions_t* late = rocksdb_readoptions_create();
  rocksdb_readoptions_set_deadline(late, 1);
  results = rocksdb_batched_multi_get_pinned_cf(db, late, NULL, 2, keys, 1);
  CHECK(rocksdb_pinnable_multi_get_result(results, 0, &value, &value_size, &error, &error_size) ==
        rocksdb_pinnable_multi_get_error);
  CHECK(value == NULL && error_size == strlen(error) && error_size > 0);
  rocksdb_pinnable_multi_get_destroy(results);
  rocksdb_readoptions_destroy(late);
  results = rocksdb_batched_multi_get_pinned_cf(db, reads, NULL, 0, NULL, 0);
  CHECK(rocksdb_pinnable_multi_get_count(results) == 0);
  rocksdb_pinnable_multi_get_destroy(results);
}

static void batches(rocksdb_t* db) {
  char* err = NULL;
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, "b1", 2, "x", 1);
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_put(batch, "b2", 2, "y", 1);
  rocksdb_writebatch_rollback_to_save_point(batch, &err);
  CHECK_OK(err);
  const char* keys[2] = {"b", "3"};
  const size_t key_lengths[2] = {1, 1};
  const char* values[2] = {"z", "z"};
  rocksdb_writebatch_putv(batch, 2, keys, key_lengths, 2, values, key_lengths);
  CHECK(rocksdb_writebatch_count(batch) == 2);
  size_t size = 0;
  const char* rep = rocksdb_writebatch_data(batch, &size);
  rocksdb_writebatch_t* again = rocksdb_writebatch_create_from(rep, size);
  rocksdb_write(db, writes, again, &err);
  CHECK_OK(err);
  rocksdb_writebatch_destroy(batch);
  rocksdb_writebatch_destroy(again);
  check_get(db, "b1", "x");
  check_get(db, "b2", NULL);
  check_get(db, "b3", "zz");

  rocksdb_writebatch_wi_t* index = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put(index, "b1", 2, "over", 4);
  rocksdb_writebatch_wi_delete(index, "b3", 2);
  char* value = rocksdb_writebatch_wi_get_from_batch_and_db(index, db, reads, "b1", 2, &size, &err);
  CHECK_OK(err);
  CHECK(is_value(value, size, "over"));
  value = rocksdb_writebatch_wi_get_from_batch_and_db(index, db, reads, "b3", 2, &size, &err);
  CHECK_OK(err);
  CHECK(value == NULL);
  rocksdb_iterator_t* iter =
      rocksdb_writebatch_wi_create_iterator_with_base(index, rocksdb_create_iterator(db, reads));
  rocksdb_iter_seek(iter, "b", 1);
  const char* key = rocksdb_iter_key(iter, &size);
  CHECK(size == 2 && memcmp(key, "b1", 2) == 0);
  rocksdb_iter_next(iter);
  key = rocksdb_iter_key(iter, &size);
  CHECK(size == 5 && memcmp(key, "empty", 5) == 0);
  rocksdb_iter_destroy(iter);
  rocksdb_writebatch_wi_destroy(index);
}

/* Returns the bytes of memtables that only readers hold. */
static uint64_t held(rocksdb_t* db) {
  uint64_t all = 0;
  uint64_t current = 0;
  CHECK(rocksdb_property_int(db, "rocksdb.size-all-mem-tables", &all) == 0);
  CHECK(rocksdb_property_int(db, "rocksdb.cur-size-all-mem-tables", &current) == 0);
  return all - current;
}

/* An iterator with a snapshot holds what it began to read, unless the option asks for a refresh. */
static void held_and_refreshed(rocksdb_t* db) {
  char* err = NULL;
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  CHECK(rocksdb_readoptions_get_auto_refresh_iterator_with_snapshot(options) == 0);
  for (unsigned char refresh = 0; refresh < 2; refresh++) {
    put(db, "s", "old");
    put(db, "t", "old");
    const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
    rocksdb_readoptions_set_snapshot(options, snapshot);
    if (refresh) rocksdb_readoptions_set_auto_refresh_iterator_with_snapshot(options, 1);
    rocksdb_iterator_t* iter = rocksdb_create_iterator(db, options);
    rocksdb_iter_seek(iter, "s", 1);
    rocksdb_flush(db, flush, &err);
    CHECK_OK(err);
    rocksdb_iter_next(iter);
    rocksdb_slice_t key = rocksdb_iter_key_slice(iter);
    CHECK(key.size == 1 && key.data[0] == 't');
    /* The thread that flushed may hold the memtable for a moment longer. */
    for (int tries = 0; refresh && held(db) > 0 && tries < 10000000; tries++) continue;
    CHECK((held(db) == 0) == refresh);
    rocksdb_iter_destroy(iter);
    rocksdb_release_snapshot(db, snapshot);
  }
  rocksdb_flushoptions_destroy(flush);
  rocksdb_readoptions_destroy(options);
}

static void snapshots_and_iterators(rocksdb_t* db) {
  char* err = NULL;
  put(db, "s", "old");
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  put(db, "s", "new");
  rocksdb_readoptions_set_snapshot(reads, snapshot);
  check_get(db, "s", "old");
  rocksdb_readoptions_set_snapshot(reads, NULL);
  check_get(db, "s", "new");
  rocksdb_release_snapshot(db, snapshot);

  rocksdb_readoptions_set_iterate_lower_bound(reads, "b", 1);
  rocksdb_readoptions_set_iterate_upper_bound(reads, "c", 1);
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  CHECK(!rocksdb_iter_valid(iter));
  int count = 0;
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter); rocksdb_iter_next(iter)) count++;
  CHECK(count == 2);
  rocksdb_iter_seek_to_last(iter);
  rocksdb_slice_t key = rocksdb_iter_key_slice(iter);
  CHECK(key.size == 2 && memcmp(key.data, "b3", 2) == 0);
  rocksdb_iter_get_error(iter, &err);
  CHECK_OK(err);
  rocksdb_iter_destroy(iter);
  rocksdb_readoptions_set_iterate_lower_bound(reads, NULL, 0);
  rocksdb_readoptions_set_iterate_upper_bound(reads, NULL, 0);
}

static void families(rocksdb_options_t* options, const char* path) {
  char* err = NULL;
  rocksdb_t* db = rocksdb_open(options, path, &err);
  CHECK_OK(err);
  rocksdb_column_family_handle_t* cf = rocksdb_create_column_family(db, options, "second", &err);
  CHECK_OK(err);
  rocksdb_put_cf(db, writes, cf, "k", 1, "of the second", 13, &err);
  CHECK_OK(err);
  check_get(db, "k", NULL);
  rocksdb_column_family_handle_t* twice = rocksdb_create_column_family(db, options, "second", &err);
  CHECK(twice == NULL && err != NULL);
  free(err);
  err = NULL;
  rocksdb_column_family_handle_destroy(cf);
  rocksdb_close(db);

  /* RocksDB requires the names of all families. */
  db = rocksdb_open(options, path, &err);
  CHECK(db == NULL && strncmp(err, "Invalid argument: ", 18) == 0);
  free(err);
  err = NULL;

  size_t count = 0;
  char** names = rocksdb_list_column_families(options, path, &count, &err);
  CHECK_OK(err);
  CHECK(count == 2 && strcmp(names[0], "default") == 0 && strcmp(names[1], "second") == 0);
  const rocksdb_options_t* each[2] = {options, options};
  rocksdb_column_family_handle_t* handles[2];
  db = rocksdb_open_column_families(options, path, 2, (const char* const*)names, each, handles, &err);
  CHECK_OK(err);
  rocksdb_list_column_families_destroy(names, count);
  size_t length = 0;
  char* value = rocksdb_get_cf(db, reads, handles[1], "k", 1, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "of the second"));
  rocksdb_drop_column_family(db, handles[1], &err);
  CHECK_OK(err);
  rocksdb_column_family_handle_destroy(handles[0]);
  rocksdb_close(db);
  rocksdb_column_family_handle_destroy(handles[1]);
}

static int is_at(rocksdb_iterator_t* iter, const char* wanted) {
  size_t length = 0;
  const char* key = rocksdb_iter_key(iter, &length);
  return rocksdb_iter_valid(iter) && length == strlen(wanted) && memcmp(key, wanted, length) == 0;
}

/* A tailing iterator goes on to rows that are written while it stands; one with prefix_same_as_start ends with the
   prefix of its lower bound, or of its first or last row. */
static void walks(const char* dir) {
  char path[512], *err = NULL;
  snprintf(path, sizeof(path), "%s-walks", dir);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(2));
  rocksdb_t* db = rocksdb_open(options, path, &err);
  CHECK_OK(err);
  put(db, "p1a", "1");
  rocksdb_readoptions_t* how = rocksdb_readoptions_create();
  rocksdb_readoptions_set_tailing(how, 1);
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, how);
  rocksdb_iter_seek_to_first(iter);
  put(db, "p1b", "2");
  put(db, "p2a", "3");
  CHECK(is_at(iter, "p1a"));
  rocksdb_iter_next(iter);
  CHECK(is_at(iter, "p1b"));
  rocksdb_iter_next(iter);
  CHECK(is_at(iter, "p2a"));
  rocksdb_iter_next(iter);
  CHECK(!rocksdb_iter_valid(iter));
  rocksdb_iter_destroy(iter);
  rocksdb_readoptions_set_tailing(how, 0);
  rocksdb_readoptions_set_prefix_same_as_start(how, 1);
  iter = rocksdb_create_iterator(db, how);
  rocksdb_iter_seek_to_first(iter);
  rocksdb_iter_next(iter);
  CHECK(is_at(iter, "p1b"));
  rocksdb_iter_next(iter);
  CHECK(!rocksdb_iter_valid(iter));
  rocksdb_iter_seek_to_last(iter);
  CHECK(is_at(iter, "p2a"));
  rocksdb_iter_prev(iter);
  CHECK(!rocksdb_iter_valid(iter));
  rocksdb_iter_destroy(iter);
  rocksdb_readoptions_set_iterate_lower_bound(how, "p1", 2);
  iter = rocksdb_create_iterator(db, how);
  int rows = 0;
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter); rocksdb_iter_next(iter)) rows++;
  CHECK(rows == 2);
  rocksdb_iter_destroy(iter);
  rocksdb_readoptions_destroy(how);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  reads = rocksdb_readoptions_create();
  writes = rocksdb_writeoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK(db == NULL && err != NULL);
  free(err);
  err = NULL;
  rocksdb_options_set_create_if_missing(options, 1);
  db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  single_rows(db);
  pinned_multi_get(db);
  batches(db);
  snapshots_and_iterators(db);
  held_and_refreshed(db);
  char* stats = rocksdb_property_value(db, "rocksdb.stats");
  CHECK(stats != NULL);
  rocksdb_free(stats);
  CHECK(rocksdb_property_value(db, "nothing") == NULL);
  rocksdb_close(db);
  families(options, argv[1]);
  walks(argv[1]);
  rocksdb_destroy_db(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
