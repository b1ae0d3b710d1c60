/* Families with timestamps: reads that return them, single deletions, and history that compactions drop. */
#include "check.h"

static void nothing(void* state) { (void)state; }

static const char* name(void* state) {
  (void)state;
  return "test.u64.timestamps";
}

static int bytes_order(const char* a, size_t alen, const char* b, size_t blen) {
  int order = memcmp(a, b, alen < blen ? alen : blen);
  return order != 0 ? order : (alen > blen) - (alen < blen);
}

/* The newer timestamp comes first. */
static int compare_timestamps(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state;
  CHECK(alen == 8 && blen == 8);
  return memcmp(a, b, 8);
}

static int compare_without(void* state, const char* a, size_t alen, unsigned char a_has, const char* b, size_t blen,
                           unsigned char b_has) {
  (void)state;
  return bytes_order(a, alen - (a_has ? 8 : 0), b, blen - (b_has ? 8 : 0));
}

static int compare(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  int order = compare_without(state, a, alen, 1, b, blen, 1);
  return order != 0 ? order : -compare_timestamps(state, a + alen - 8, 8, b + blen - 8, 8);
}

/* A timestamp, with the most significant byte first. */
static const char* at(unsigned char time) {
  static char bytes[4][8];
  static int next = 0;
  char* place = bytes[next++ % 4];
  memset(place, 0, 8);
  place[7] = (char)time;
  return place;
}

static void check_value(char* value, size_t length, const char* expected, char* ts, size_t tslen, unsigned char time) {
  CHECK(value != NULL && length == strlen(expected) && memcmp(value, expected, length) == 0);
  CHECK(ts != NULL && tslen == 8 && memcmp(ts, at(time), 8) == 0);
  rocksdb_free(value);
  rocksdb_free(ts);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  rocksdb_comparator_t* order =
      rocksdb_comparator_with_ts_create(NULL, nothing, compare, compare_timestamps, compare_without, name, 8);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_options_t* stamped = rocksdb_options_create();
  rocksdb_options_set_comparator(stamped, order);
  const char* names[2] = {"one", "two"};
  size_t made = 0;
  rocksdb_column_family_handle_t** families = rocksdb_create_column_families(db, stamped, 2, names, &made, &err);
  CHECK_OK(err);
  CHECK(made == 2);
  rocksdb_column_family_handle_t* one = families[0];
  rocksdb_column_family_handle_t* two = families[1];
  rocksdb_create_column_families_destroy(families);

  /* The families before one that cannot be created exist. */
  const char* again[3] = {"three", "one", "four"};
  families = rocksdb_create_column_families(db, options, 3, again, &made, &err);
  CHECK(err != NULL && made == 1);
  rocksdb_free(err);
  err = NULL;
  size_t length = 0;
  char* three = rocksdb_column_family_handle_get_name(families[0], &length);
  CHECK(length == 5 && memcmp(three, "three", 5) == 0);
  rocksdb_free(three);
  rocksdb_column_family_handle_destroy(families[0]);
  rocksdb_create_column_families_destroy(families);

  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_readoptions_set_timestamp(reads, at(9), 8);
  rocksdb_put_cf_with_ts(db, writes, one, "k", 1, at(1), 8, "v1", 2, &err);
  rocksdb_put_cf_with_ts(db, writes, one, "k", 1, at(3), 8, "v3", 2, &err);
  rocksdb_put_cf_with_ts(db, writes, two, "k", 1, at(2), 8, "other", 5, &err);
  CHECK_OK(err);
  char* ts = NULL;
  size_t tslen = 0;
  char* value = rocksdb_get_cf_with_ts(db, reads, one, "k", 1, &length, &ts, &tslen, &err);
  CHECK_OK(err);
  check_value(value, length, "v3", ts, tslen, 3);
  rocksdb_readoptions_set_timestamp(reads, at(2), 8);
  value = rocksdb_get_cf_with_ts(db, reads, one, "k", 1, &length, &ts, &tslen, &err);
  CHECK_OK(err);
  check_value(value, length, "v1", ts, tslen, 1);

  const rocksdb_column_family_handle_t* both[3] = {one, two, one};
  const char* keys[3] = {"k", "k", "absent"};
  size_t lengths[3] = {1, 1, 6};
  char* values[3];
  size_t value_lengths[3];
  char* timestamps[3];
  size_t timestamp_lengths[3];
  char* errors[3];
  rocksdb_multi_get_cf_with_ts(db, reads, both, 3, keys, lengths, values, value_lengths, timestamps, timestamp_lengths,
                               errors);
  CHECK(errors[0] == NULL && errors[1] == NULL && errors[2] == NULL);
  check_value(values[0], value_lengths[0], "v1", timestamps[0], timestamp_lengths[0], 1);
  check_value(values[1], value_lengths[1], "other", timestamps[1], timestamp_lengths[1], 2);
  CHECK(values[2] == NULL && value_lengths[2] == 0 && timestamps[2] == NULL && timestamp_lengths[2] == 0);

  /* The default family has no timestamps. */
  rocksdb_readoptions_t* plain = rocksdb_readoptions_create();
  rocksdb_put(db, writes, "p", 1, "plain", 5, &err);
  CHECK_OK(err);
  value = rocksdb_get_with_ts(db, plain, "p", 1, &length, &ts, &tslen, &err);
  CHECK_OK(err);
  CHECK(length == 5 && memcmp(value, "plain", 5) == 0 && tslen == 0);
  rocksdb_free(value);
  rocksdb_free(ts);
  rocksdb_multi_get_with_ts(db, plain, 1, keys, lengths, values, value_lengths, timestamps, timestamp_lengths, errors);
  CHECK(values[0] == NULL && errors[0] == NULL);

  rocksdb_singledelete_cf_with_ts(db, writes, two, "k", 1, at(4), 8, &err);
  CHECK_OK(err);
  rocksdb_readoptions_set_timestamp(reads, at(9), 8);
  value = rocksdb_get_cf_with_ts(db, reads, two, "k", 1, &length, &ts, &tslen, &err);
  CHECK_OK(err);
  CHECK(value == NULL && length == 0 && tslen == 0);
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_singledelete_cf_with_ts(batch, one, "k", 1, at(5), 8);
  CHECK(rocksdb_writebatch_count(batch) == 1);
  rocksdb_write(db, writes, batch, &err);
  CHECK_OK(err);
  rocksdb_writebatch_destroy(batch);
  value = rocksdb_get_cf_with_ts(db, reads, one, "k", 1, &length, &ts, &tslen, &err);
  CHECK_OK(err);
  CHECK(value == NULL);
  rocksdb_readoptions_set_timestamp(reads, at(4), 8);
  value = rocksdb_get_cf_with_ts(db, reads, one, "k", 1, &length, &ts, &tslen, &err);
  CHECK_OK(err);
  check_value(value, length, "v3", ts, tslen, 3);

  /* A compaction that may drop history below 4: reads below 4 fail. */
  rocksdb_compactoptions_t* compaction = rocksdb_compactoptions_create();
  char low[8];
  memcpy(low, at(4), 8);
  rocksdb_compactoptions_set_full_history_ts_low(compaction, low, 8);
  rocksdb_compact_range_cf_opt(db, one, compaction, NULL, 0, NULL, 0);
  rocksdb_readoptions_set_timestamp(reads, at(2), 8);
  value = rocksdb_get_cf_with_ts(db, reads, one, "k", 1, &length, &ts, &tslen, &err);
  CHECK(value == NULL && err != NULL);
  rocksdb_free(err);
  err = NULL;

  CHECK(rocksdb_livefiles_count(NULL) == 0);
  rocksdb_compactoptions_destroy(compaction);
  rocksdb_readoptions_destroy(plain);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  rocksdb_column_family_handle_destroy(one);
  rocksdb_column_family_handle_destroy(two);
  rocksdb_close(db);
  rocksdb_options_destroy(stamped);
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(order);
  return 0;
}
