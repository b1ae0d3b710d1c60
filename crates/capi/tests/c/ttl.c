/* Rows with a time to live: values end with the time of their write, which only a database without times to live shows,
   and a compaction drops the expired ones. */
#include <stdint.h>

#include "check.h"

static rocksdb_writeoptions_t* writes;
static rocksdb_readoptions_t* reads;

static void check_get(rocksdb_t* db, rocksdb_column_family_handle_t* cf, const char* key, const char* wanted) {
  char* err = NULL;
  size_t length = 0;
  char* value = rocksdb_get_cf(db, reads, cf, key, strlen(key), &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, wanted));
}

static void put(rocksdb_t* db, rocksdb_column_family_handle_t* cf, const char* key, const char* value, size_t length) {
  char* err = NULL;
  rocksdb_put_cf(db, writes, cf, key, strlen(key), value, length, &err);
  CHECK_OK(err);
}

static char* last(void* state, const char* key, size_t key_len, const char* base, size_t base_len,
                  const char* const* operands, const size_t* lengths, int n, unsigned char* success, size_t* length) {
  (void)state, (void)key, (void)key_len, (void)base, (void)base_len;
  char* copy = malloc(lengths[n - 1] + 1);
  memcpy(copy, operands[n - 1], lengths[n - 1]);
  *length = lengths[n - 1];
  *success = 1;
  return copy;
}
static char* no_partial(void* state, const char* key, size_t key_len, const char* const* operands, const size_t* lengths,
                        int n, unsigned char* success, size_t* length) {
  (void)state, (void)key, (void)key_len, (void)operands, (void)lengths, (void)n;
  *success = 0;
  *length = 0;
  return NULL;
}
static const char* last_name(void* state) {
  (void)state;
  return "test.Last";
}
static void nothing(void* state) { (void)state; }

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  writes = rocksdb_writeoptions_create();
  reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(NULL, nothing, last, no_partial, NULL, last_name));
  rocksdb_t* db = rocksdb_open_with_ttl(options, argv[1], 0, &err);
  CHECK_OK(err);
  rocksdb_column_family_handle_t* defaults = rocksdb_get_default_column_family_handle(db);
  rocksdb_column_family_handle_t* other = rocksdb_create_column_family_with_ttl(db, options, "other", 100, &err);
  CHECK_OK(err);
  rocksdb_column_family_handle_t* lasting = rocksdb_create_column_family(db, options, "lasting", &err);
  CHECK_OK(err);

  /* Every way to write and to read hides the time. */
  rocksdb_put(db, writes, "a", 1, "one", 3, &err);
  CHECK_OK(err);
  put(db, other, "a", "two", 3);
  put(db, lasting, "a", "", 0);
  rocksdb_merge(db, writes, "m", 1, "merged", 6, &err);
  CHECK_OK(err);
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, "b", 1, "batch", 5);
  rocksdb_writebatch_put_cf(batch, other, "b", 1, "other", 5);
  rocksdb_writebatch_delete(batch, "none", 4);
  rocksdb_write(db, writes, batch, &err);
  CHECK_OK(err);
  rocksdb_writebatch_destroy(batch);
  rocksdb_writebatch_wi_t* index = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put(index, "c", 1, "index", 5);
  rocksdb_write_writebatch_wi(db, writes, index, &err);
  CHECK_OK(err);
  check_get(db, defaults, "a", "one");
  check_get(db, defaults, "b", "batch");
  check_get(db, defaults, "c", "index");
  check_get(db, defaults, "m", "merged");
  check_get(db, other, "a", "two");
  check_get(db, other, "b", "other");
  check_get(db, lasting, "a", "");
  check_get(db, defaults, "none", NULL);
  size_t length = 0;
  rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned(db, reads, "a", 1, &err);
  CHECK_OK(err);
  const char* value = rocksdb_pinnableslice_value(pinned, &length);
  CHECK(length == 3 && memcmp(value, "one", 3) == 0);
  rocksdb_pinnableslice_destroy(pinned);
  const char* keys[3] = {"a", "z", "b"};
  size_t lengths[3] = {1, 1, 1}, sizes[3];
  char *values[3], *errors[3];
  rocksdb_multi_get(db, reads, 3, keys, lengths, values, sizes, errors);
  CHECK(is_value(values[0], sizes[0], "one") && values[1] == NULL && is_value(values[2], sizes[2], "batch"));
  for (int i = 0; i < 3; i++) CHECK_OK(errors[i]);
  rocksdb_iterator_t* iter = rocksdb_create_iterator_cf(db, reads, other);
  rocksdb_iter_seek_to_last(iter);
  value = rocksdb_iter_value(iter, &length);
  CHECK(length == 5 && memcmp(value, "other", 5) == 0);
  rocksdb_iter_destroy(iter);

  /* A batch over the database is refused, and shows no times. */
  char* over = rocksdb_writebatch_wi_get_from_batch_and_db(index, db, reads, "a", 1, &length, &err);
  CHECK(over == NULL && strncmp(err, "Not implemented: ", 17) == 0);
  free(err);
  err = NULL;
  rocksdb_writebatch_wi_destroy(index);
  rocksdb_column_family_handle_destroy(defaults);
  rocksdb_column_family_handle_destroy(other);
  rocksdb_column_family_handle_destroy(lasting);
  rocksdb_close(db);

  /* Without times to live the suffix shows; a row of the year 2014 is added. */
  const char* names[3] = {"default", "other", "lasting"};
  const rocksdb_options_t* of_families[3] = {options, options, options};
  rocksdb_column_family_handle_t* handles[3];
  db = rocksdb_open_column_families(options, argv[1], 3, names, of_families, handles, &err);
  CHECK_OK(err);
  char* whole = rocksdb_get(db, reads, "a", 1, &length, &err);
  CHECK_OK(err);
  CHECK(length == 7 && memcmp(whole, "one", 3) == 0);
  free(whole);
  char old[7] = "old";
  uint32_t then = 1400000000;
  for (int i = 0; i < 4; i++) old[3 + i] = (char)(then >> (8 * i));
  for (int i = 0; i < 3; i++) put(db, handles[i], "old", old, sizeof(old));
  put(db, handles[1], "short", "s", 1);
  for (int i = 0; i < 3; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);

  /* Expired rows are there until a compaction drops them; families without a time keep them. */
  int ttls[3] = {0, 100, 0};
  db = rocksdb_open_column_families_with_ttl(options, argv[1], 3, names, of_families, handles, ttls, &err);
  CHECK_OK(err);
  for (int i = 0; i < 3; i++) check_get(db, handles[i], "old", "old");
  CHECK(rocksdb_get_cf(db, reads, handles[1], "short", 5, &length, &err) == NULL);
  CHECK(err != NULL && strncmp(err, "Corruption: ", 12) == 0);
  free(err);
  err = NULL;
  rocksdb_delete_cf(db, writes, handles[1], "short", 5, &err);
  CHECK_OK(err);
  for (int i = 0; i < 3; i++) rocksdb_compact_range_cf(db, handles[i], NULL, 0, NULL, 0);
  check_get(db, handles[0], "old", "old");
  check_get(db, handles[1], "old", NULL);
  check_get(db, handles[1], "a", "two");
  check_get(db, handles[2], "old", "old");
  for (int i = 0; i < 3; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);

  /* All families have to be named. */
  db = rocksdb_open_with_ttl(options, argv[1], 5, &err);
  CHECK(db == NULL && strncmp(err, "Invalid argument: ", 18) == 0);
  free(err);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
