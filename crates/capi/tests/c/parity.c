// Behaviour that programs written for RocksDB rely on, and that the header does not describe. Tests of such
// programs found each of these cases.
#include "check.h"

static int compare(void* state, const char* a, size_t a_length, const char* b, size_t b_length) {
  (void)state;
  size_t least = a_length < b_length ? a_length : b_length;
  int order = memcmp(a, b, least);
  return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}
static int compare_timestamps(void* state, const char* a, size_t a_length, const char* b, size_t b_length) {
  (void)state, (void)a, (void)a_length, (void)b, (void)b_length;
  return 0;
}
static int compare_without(void* state, const char* a, size_t a_length, unsigned char a_has, const char* b, size_t b_length,
                           unsigned char b_has) {
  return compare(state, a, a_length - (a_has ? 8 : 0), b, b_length - (b_has ? 8 : 0));
}
static const char* name(void* state) {
  (void)state;
  return "with timestamps";
}
static void nothing(void* state) { (void)state; }

static void defaults(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  CHECK(rocksdb_options_get_info_log_level(options) == 1);
  rocksdb_options_destroy(options);
  rocksdb_backup_engine_options_t* backups = rocksdb_backup_engine_options_create("nowhere");
  CHECK((uint32_t)rocksdb_backup_engine_options_get_share_files_with_checksum_naming(backups) == 0x80000002u);
  rocksdb_backup_engine_options_destroy(backups);
  // The capacity is rounded up to a multiple of the shards internally, and reported as requested.
  rocksdb_lru_cache_options_t* of_cache = rocksdb_lru_cache_options_create();
  rocksdb_lru_cache_options_set_capacity(of_cache, 19);
  rocksdb_lru_cache_options_set_num_shard_bits(of_cache, 2);
  rocksdb_cache_t* cache = rocksdb_cache_create_lru_opts(of_cache);
  CHECK(rocksdb_cache_get_capacity(cache) == 19);
  rocksdb_cache_set_capacity(cache, 130);
  CHECK(rocksdb_cache_get_capacity(cache) == 130);
  rocksdb_cache_destroy(cache);
  rocksdb_lru_cache_options_destroy(of_cache);
  // `rocksdb_comparator_with_ts_create` has seven arguments: the function that compares timestamps comes
  // before the function that compares keys without them.
  rocksdb_comparator_t* order =
      rocksdb_comparator_with_ts_create(NULL, nothing, compare, compare_timestamps, compare_without, name, 8);
  CHECK(order != NULL);
  rocksdb_comparator_destroy(order);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  defaults();
  char* err = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  // Calls that enable and disable manual compactions are counted, and the first call may be one that enables.
  rocksdb_enable_manual_compaction(db);
  rocksdb_disable_manual_compaction(db);
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_put(db, write, "a", 1, "1", 1, &err);
  rocksdb_delete(db, write, "b", 1, &err);
  CHECK_OK(err);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  char* files = rocksdb_property_value(db, "rocksdb.num-files-at-level6");
  CHECK(files != NULL && strcmp(files, "1") == 0);
  rocksdb_free(files);

  // `rocksdb_key_may_exist` reports a key that is certainly absent with a found, empty value.
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  char* value = NULL;
  size_t length = 9;
  unsigned char found = 0;
  CHECK(rocksdb_key_may_exist(db, read, "b", 1, &value, &length, NULL, 0, &found) == 0);
  CHECK(found == 1 && value != NULL && length == 0);
  rocksdb_free(value);

  // The backup directory may be the database's own directory.
  rocksdb_backup_engine_t* engine = rocksdb_backup_engine_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_backup_engine_create_new_backup(engine, db, &err);
  CHECK_OK(err);
  rocksdb_backup_engine_close(engine);

  rocksdb_readoptions_destroy(read);
  rocksdb_writeoptions_destroy(write);
  rocksdb_close(db);
  db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return 0;
}
