/* A comparator, a merge operator, a compaction filter and a prefix extractor of the caller. */
#include "check.h"

static int destroyed;
static void count_destroyed(void* state) {
  CHECK(state == &destroyed);
  destroyed++;
}

/* Compares keys in reverse order. */
static int backwards(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state;
  size_t n = alen < blen ? alen : blen;
  int order = memcmp(b, a, n);
  return order != 0 ? order : (blen > alen) - (blen < alen);
}
static const char* backwards_name(void* state) {
  (void)state;
  return "test.Backwards";
}

/* Joins values with commas. */
static char* join(const char* base, size_t base_len, const char* const* operands, const size_t* lengths, int n,
                  size_t* length) {
  size_t total = base_len;
  for (int i = 0; i < n; i++) total += lengths[i] + 1;
  char* joined = malloc(total + 1);
  size_t at = 0;
  if (base != NULL) {
    memcpy(joined, base, base_len);
    at = base_len;
  }
  for (int i = 0; i < n; i++) {
    if (at > 0) joined[at++] = ',';
    memcpy(joined + at, operands[i], lengths[i]);
    at += lengths[i];
  }
  *length = at;
  return joined;
}
static char* full_merge(void* state, const char* key, size_t key_len, const char* base, size_t base_len,
                        const char* const* operands, const size_t* lengths, int n, unsigned char* success,
                        size_t* length) {
  (void)state, (void)key;
  *success = key_len != 3; /* "bad" does not merge */
  return join(base, base_len, operands, lengths, n, length);
}
static char* partial_merge(void* state, const char* key, size_t key_len, const char* const* operands,
                           const size_t* lengths, int n, unsigned char* success, size_t* length) {
  (void)state, (void)key, (void)key_len;
  *success = 1;
  return join(NULL, 0, operands, lengths, n, length);
}
static const char* merge_name(void* state) {
  (void)state;
  return "test.Join";
}

/* Drops the value "drop", and changes the value "change". */
static unsigned char filter(void* state, int level, const char* key, size_t key_len, const char* value, size_t value_len,
                            char** new_value, size_t* new_len, unsigned char* changed) {
  (void)state, (void)level, (void)value, (void)value_len;
  if (key_len == 4 && memcmp(key, "drop", 4) == 0) return 1;
  if (key_len == 6 && memcmp(key, "change", 6) == 0) {
    *new_value = "changed";
    *new_len = 7;
    *changed = 1;
  }
  return 0;
}
static const char* filter_name(void* state) {
  (void)state;
  return "test.Filter";
}

static void check_get(rocksdb_t* db, const char* key, const char* wanted) {
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  char* err = NULL;
  size_t length = 0;
  char* value = rocksdb_get(db, reads, key, strlen(key), &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, wanted));
  rocksdb_readoptions_destroy(reads);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_comparator_t* comparator =
      rocksdb_comparator_create(&destroyed, count_destroyed, backwards, backwards_name);
  rocksdb_options_set_comparator(options, comparator);
  rocksdb_options_set_merge_operator(options, rocksdb_mergeoperator_create(&destroyed, count_destroyed, full_merge,
                                                                          partial_merge, NULL, merge_name));
  rocksdb_compactionfilter_t* compaction_filter =
      rocksdb_compactionfilter_create(&destroyed, count_destroyed, filter, filter_name);
  rocksdb_options_set_compaction_filter(options, compaction_filter);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);

  const char* keys[] = {"a", "b", "drop", "change"};
  for (int i = 0; i < 4; i++) {
    rocksdb_put(db, writes, keys[i], strlen(keys[i]), "v", 1, &err);
    CHECK_OK(err);
  }
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  size_t length = 0;
  rocksdb_iter_seek_to_first(iter);
  const char* key = rocksdb_iter_key(iter, &length);
  CHECK(length == 4 && memcmp(key, "drop", 4) == 0);
  rocksdb_iter_destroy(iter);

  for (int i = 0; i < 3; i++) {
    char operand = (char)('1' + i);
    rocksdb_merge(db, writes, "m", 1, &operand, 1, &err);
    rocksdb_merge(db, writes, "bad", 3, &operand, 1, &err);
    CHECK_OK(err);
  }
  check_get(db, "m", "1,2,3");
  char* none = rocksdb_get(db, reads, "bad", 3, &length, &err);
  CHECK(none == NULL && strstr(err, "Merge operator failed") != NULL);
  free(err);
  err = NULL;
  rocksdb_delete(db, writes, "bad", 3, &err);
  CHECK_OK(err);

  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  check_get(db, "m", "1,2,3");
  check_get(db, "drop", NULL);
  check_get(db, "change", "changed");
  rocksdb_close(db);
  CHECK(destroyed == 0);

  /* Another order is refused with RocksDB's error text. */
  rocksdb_options_t* plain = rocksdb_options_create();
  db = rocksdb_open(plain, argv[1], &err);
  CHECK(db == NULL && strncmp(err, "Invalid argument: ", 18) == 0);
  free(err);
  err = NULL;
  rocksdb_options_destroy(plain);

  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(comparator);
  rocksdb_compactionfilter_destroy(compaction_filter);
  CHECK(destroyed == 3);
  rocksdb_writeoptions_destroy(writes);
  rocksdb_readoptions_destroy(reads);
  return 0;
}
