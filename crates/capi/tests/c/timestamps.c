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

static size_t size_of_stamps(void* state, uint32_t family) {
  uint32_t known = *(uint32_t*)state;
  return family == 0 ? 0 : family == known ? 8 : (size_t)-1;
}

/* Rows of a batch get one timestamp together, after they were added. */
static void stamp_batch(rocksdb_t* db, rocksdb_column_family_handle_t* family, rocksdb_writeoptions_t* writes) {
  char* err = NULL;
  size_t length = 0, tslen = 0;
  char* ts = NULL;
  uint32_t known = rocksdb_column_family_handle_get_id(family);
  uint32_t other = known + 1;
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_with_params(0, 0, 8, 0);
  rocksdb_writebatch_put(batch, "plain", 5, "0", 1);
  rocksdb_writebatch_delete_range_cf(batch, family, "batch1", 6, "batch9", 6);
  rocksdb_writebatch_put_cf(batch, family, "batch1", 6, "one", 3);
  rocksdb_writebatch_put_cf(batch, family, "batch2", 6, "two", 3);
  rocksdb_writebatch_singledelete_cf(batch, family, "batch2", 6);
  rocksdb_write(db, writes, batch, &err);
  CHECK(err != NULL && strstr(err, "write batch must have timestamp(s) set") != NULL);
  free(err);
  err = NULL;
  rocksdb_writebatch_update_timestamps(batch, at(9), 7, &known, size_of_stamps, &err);
  CHECK(err != NULL && strcmp(err, "Invalid argument: timestamp size mismatch") == 0);
  free(err);
  err = NULL;
  rocksdb_writebatch_update_timestamps(batch, at(9), 8, &other, size_of_stamps, &err);
  CHECK(err != NULL && strncmp(err, "NotFound: ", 10) == 0);
  free(err);
  err = NULL;
  rocksdb_writebatch_update_timestamps(batch, at(9), 8, &known, size_of_stamps, &err);
  CHECK_OK(err);
  rocksdb_writebatch_verify_checksum(batch, &err);
  CHECK_OK(err);
  rocksdb_write(db, writes, batch, &err);
  CHECK_OK(err);
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_readoptions_set_timestamp(reads, at(9), 8);
  char* value = rocksdb_get_cf_with_ts(db, reads, family, "batch1", 6, &length, &ts, &tslen, &err);
  CHECK_OK(err);
  check_value(value, length, "one", ts, tslen, 9);
  value = rocksdb_get_cf(db, reads, family, "batch2", 6, &length, &err);
  CHECK(value == NULL && err == NULL);
  rocksdb_readoptions_set_timestamp(reads, at(8), 8);
  value = rocksdb_get_cf(db, reads, family, "batch1", 6, &length, &err);
  CHECK(value == NULL && err == NULL);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writebatch_destroy(batch);
}

/* An open that drops everything newer than 4: the deletion at 5, and no row of the family without timestamps. */
static void trim(rocksdb_options_t* options, rocksdb_options_t* stamped, const char* path) {
  char* err = NULL;
  char* ts = NULL;
  char time[8];
  size_t length = 0, tslen = 0;
  const char* names[4] = {"default", "one", "two", "three"};
  const rocksdb_options_t* each[4] = {options, stamped, stamped, options};
  rocksdb_column_family_handle_t* handles[4];
  memcpy(time, at(4), 8);
  rocksdb_options_set_avoid_flush_during_recovery(options, 1);
  rocksdb_t* db = rocksdb_open_and_trim_history(options, path, 4, names, each, handles, time, 8, &err);
  CHECK(db == NULL && err != NULL);
  CHECK(strcmp(err, "Invalid argument: avoid_flush_during_recovery incompatible with OpenAndTrimHistory") == 0);
  free(err);
  err = NULL;
  rocksdb_options_set_avoid_flush_during_recovery(options, 0);
  db = rocksdb_open_and_trim_history(options, path, 4, names, each, handles, time, 7, &err);
  CHECK(db == NULL && err != NULL && strncmp(err, "Invalid argument: ", 18) == 0);
  free(err);
  err = NULL;
  db = rocksdb_open_and_trim_history(options, path, 4, names, each, handles, time, 8, &err);
  CHECK_OK(err);
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  char* value = rocksdb_get(db, reads, "p", 1, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "plain"));
  rocksdb_readoptions_set_timestamp(reads, at(9), 8);
  value = rocksdb_get_cf_with_ts(db, reads, handles[1], "k", 1, &length, &ts, &tslen, &err);
  CHECK_OK(err);
  /* Below the time of history, compactions may forget the timestamp. */
  CHECK(is_value(value, length, "v3") && tslen == 8);
  rocksdb_free(ts);
  rocksdb_readoptions_destroy(reads);
  for (int i = 0; i < 4; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
}

/* So do rows of a batch with an index, which is read before and after. */
static void stamp_index(rocksdb_t* db, rocksdb_column_family_handle_t* family, rocksdb_writeoptions_t* writes) {
  char* err = NULL;
  size_t length = 0;
  uint32_t known = rocksdb_column_family_handle_get_id(family);
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_readoptions_set_timestamp(reads, at(10), 8);
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put_cf(batch, family, "index1", 6, "new", 3);
  rocksdb_writebatch_wi_delete_cf(batch, family, "batch1", 6);
  rocksdb_writebatch_wi_put(batch, "plain", 5, "1", 1);
  rocksdb_write_writebatch_wi(db, writes, batch, &err);
  CHECK(err != NULL && strstr(err, "write batch must have timestamp(s) set") != NULL);
  free(err);
  err = NULL;
  char* value = rocksdb_writebatch_wi_get_from_batch_and_db_cf(batch, db, reads, family, "batch1", 6, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "one"));
  rocksdb_writebatch_wi_update_timestamps(batch, at(10), 7, &known, size_of_stamps, &err);
  CHECK(err != NULL && strcmp(err, "Invalid argument: timestamp size mismatch") == 0);
  free(err);
  err = NULL;
  rocksdb_writebatch_wi_update_timestamps(batch, at(10), 8, &known, NULL, &err);
  CHECK(err != NULL && strncmp(err, "Invalid argument: ", 18) == 0);
  free(err);
  err = NULL;
  rocksdb_writebatch_wi_update_timestamps(batch, at(10), 8, &known, size_of_stamps, &err);
  CHECK_OK(err);
  value = rocksdb_writebatch_wi_get_from_batch_and_db_cf(batch, db, reads, family, "batch1", 6, &length, &err);
  CHECK(value == NULL && err == NULL);
  rocksdb_write_writebatch_wi(db, writes, batch, &err);
  CHECK_OK(err);
  value = rocksdb_get_cf(db, reads, family, "index1", 6, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "new"));
  value = rocksdb_get_cf(db, reads, family, "batch1", 6, &length, &err);
  CHECK(value == NULL && err == NULL);
  rocksdb_readoptions_set_timestamp(reads, at(9), 8);
  value = rocksdb_get_cf(db, reads, family, "batch1", 6, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "one"));
  rocksdb_readoptions_destroy(reads);
  rocksdb_writebatch_wi_destroy(batch);
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
  stamp_batch(db, one, writes);
  stamp_index(db, one, writes);
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

  /* Every version from 1 to 9, the newest first: the key is RocksDB's internal key. */
  rocksdb_readoptions_set_timestamp(reads, at(9), 8);
  rocksdb_readoptions_set_iter_start_ts(reads, at(1), 8);
  rocksdb_iterator_t* iter = rocksdb_create_iterator_cf(db, reads, one);
  unsigned char times[16], kinds[16];
  size_t versions = 0;
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter); rocksdb_iter_next(iter)) {
    const char* key = rocksdb_iter_key(iter, &length);
    if (length != 1 + 8 + 8 || key[0] != 'k') continue;
    CHECK(versions < sizeof(times));
    times[versions] = (unsigned char)key[8];
    kinds[versions] = (unsigned char)key[9];
    const char* stamp = rocksdb_iter_timestamp(iter, &length);
    CHECK(length == 8 && memcmp(stamp, key + 1, 8) == 0);
    versions++;
  }
  rocksdb_iter_get_error(iter, &err);
  CHECK_OK(err);
  CHECK(versions >= 2 && times[0] == 5 && kinds[0] == 0x14 && times[1] == 3 && kinds[1] == 1);
  for (size_t i = 1; i < versions; i++) CHECK(times[i] < times[i - 1]);
  rocksdb_iter_destroy(iter);
  iter = rocksdb_create_iterator(db, reads);
  CHECK(!rocksdb_iter_valid(iter));
  rocksdb_iter_get_error(iter, &err);
  CHECK(err != NULL);
  rocksdb_free(err);
  err = NULL;
  rocksdb_iter_destroy(iter);
  rocksdb_readoptions_set_iter_start_ts(reads, NULL, 0);

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
  trim(options, stamped, argv[1]);
  rocksdb_options_destroy(stamped);
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(order);
  return 0;
}
