/* Options from text and from a file, listeners, statistics, updates from the WAL, files by level. */
#include "check.h"

static int flushes;

static void flush_completed(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  (void)state;
  CHECK(db != NULL);
  const rocksdb_table_properties_t* properties = rocksdb_flushjobinfo_table_properties(info);
  CHECK(rocksdb_table_properties_num_entries(properties) == 2);
  size_t length = 0;
  const char* path = rocksdb_flushjobinfo_file_path(info, &length);
  CHECK(length > 4 && memcmp(path + length - 4, ".sst", 4) == 0);
  /* The values are in one blob file. */
  CHECK(rocksdb_flushjobinfo_blob_file_addition_infos_count(info) == 1);
  const rocksdb_blob_file_addition_info_t* blobs = rocksdb_flushjobinfo_blob_file_addition_info_at(info, 0);
  CHECK(rocksdb_blob_file_addition_info_total_blob_count(blobs) == 2);
  CHECK(rocksdb_blob_file_addition_info_total_blob_bytes(blobs) > 0);
  CHECK(rocksdb_blob_file_addition_info_blob_file_number(blobs) > 0);
  path = rocksdb_blob_file_addition_info_blob_file_path(blobs, &length);
  CHECK(length > 5 && memcmp(path + length - 5, ".blob", 5) == 0);
  CHECK(rocksdb_flushjobinfo_blob_file_addition_info_at(info, 1) == NULL);
  flushes++;
}
static void destroy(void* state) { (*(int*)state)++; }

static void text_options(void) {
  char* err = NULL;
  rocksdb_options_t* base = rocksdb_options_create();
  rocksdb_options_t* parsed = rocksdb_options_create();
  CHECK(rocksdb_options_get_compression(base) == rocksdb_lz4_compression);
  rocksdb_get_options_from_string(base,
                                  "write_buffer_size=1M;compression=kZSTD;create_if_missing=true;"
                                  "block_based_table_factory={block_size=8192;checksum=kCRC32c;};max_open_files=17",
                                  parsed, &err);
  CHECK_OK(err);
  CHECK(rocksdb_options_get_write_buffer_size(parsed) == 1 << 20);
  CHECK(rocksdb_options_get_compression(parsed) == rocksdb_zstd_compression);
  CHECK(rocksdb_options_get_create_if_missing(parsed) == 1);
  CHECK(rocksdb_options_get_max_open_files(parsed) == 17);
  CHECK(rocksdb_options_get_max_open_files(base) == -1);
  rocksdb_get_options_from_string(base, "no_such_option=1", parsed, &err);
  CHECK(err != NULL && strncmp(err, "Invalid argument: ", 18) == 0);
  free(err);
  rocksdb_options_set_paranoid_checks(base, 42);
  CHECK(rocksdb_options_get_paranoid_checks(base) == 1);
  rocksdb_options_destroy(parsed);
  rocksdb_options_destroy(base);
}

static void loaded_options(const char* path) {
  char* err = NULL;
  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_options_t* loaded = NULL;
  rocksdb_options_t** families = NULL;
  char** names = NULL;
  size_t count = 0;
  rocksdb_load_latest_options(path, env, false, NULL, &loaded, &count, &names, &families, &err);
  CHECK_OK(err);
  CHECK(count == 1 && strcmp(names[0], "default") == 0);
  CHECK(rocksdb_options_get_level0_file_num_compaction_trigger(families[0]) == 9);
  CHECK(rocksdb_options_get_stats_dump_period_sec(loaded) == 77);
  rocksdb_load_latest_options_destroy(loaded, names, families, count);
  rocksdb_load_latest_options("/nowhere/at/all", env, false, NULL, &loaded, &count, &names, &families, &err);
  CHECK(err != NULL && count == 0);
  free(err);
  rocksdb_env_destroy(env);
}

/* Changes one option of the default family; returns 1 if that is refused. */
static int is_refused(rocksdb_t* db, const char* name, const char* value) {
  char* err = NULL;
  const char* names[2] = {"disable_auto_compactions", name};
  const char* values[2] = {"false", value};
  rocksdb_set_options(db, 2, names, values, &err);
  int refused = err != NULL;
  free(err);
  err = NULL;
  rocksdb_set_options_cf(db, NULL, 1, &name, &value, &err);
  CHECK((err != NULL) == refused);
  free(err);
  return refused;
}

/* Kept options that RocksDB changes in an open database are taken there; others and wrong values are not. */
static void changes(rocksdb_t* db) {
  CHECK(!is_refused(db, "paranoid_file_checks", "true"));
  CHECK(!is_refused(db, "report_bg_io_stats", "true"));
  CHECK(!is_refused(db, "max_successive_merges", "8"));
  CHECK(is_refused(db, "report_bg_io_stats", "perhaps"));
  CHECK(is_refused(db, "paranoid_file_checks", "perhaps"));
  CHECK(is_refused(db, "inplace_update_support", "true"));
  CHECK(is_refused(db, "no_such_option", "1"));
}

/* True if the LOG of the database has a line with this text. */
static int is_logged(const char* dir, const char* text) {
  char path[4096], line[4096];
  snprintf(path, sizeof(path), "%s/LOG", dir);
  FILE* file = fopen(path, "r");
  CHECK(file != NULL);
  int found = 0;
  while (fgets(line, sizeof(line), file) != NULL) {
    found |= strstr(line, text) != NULL;
  }
  fclose(file);
  return found;
}

/* Formats of tables and memtables that are replaced are named in the LOG. */
static void replaced_factories(const char* beside) {
  char dir[4096];
  char* err = NULL;
  snprintf(dir, sizeof(dir), "%s-replaced", beside);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  for (int replaced = 1; replaced >= 0; replaced--) {
    if (replaced) {
      rocksdb_options_set_hash_skip_list_rep(options, 1000, 4, 4);
      rocksdb_options_set_plain_table_factory(options, 8, 10, 0.75, 16, 0, 0, 0, 0);
    } else {
      rocksdb_options_set_allow_concurrent_memtable_write(options, 0);
      rocksdb_options_set_memtable_vector_rep(options);
      rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
      rocksdb_options_set_block_based_table_factory(options, table);
      rocksdb_block_based_options_destroy(table);
    }
    rocksdb_t* db = rocksdb_open(options, dir, &err);
    CHECK_OK(err);
    rocksdb_close(db);
    CHECK(is_logged(dir, "Options.table_factory: PlainTable") == replaced);
    CHECK(is_logged(dir, "Options.memtable_factory: HashSkipListRepFactory") == replaced);
  }
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  replaced_factories(argv[1]);
  char* err = NULL;
  int destroyed = 0;
  text_options();
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_level0_file_num_compaction_trigger(options, 9);
  rocksdb_options_set_stats_dump_period_sec(options, 77);
  rocksdb_options_enable_statistics(options);
  rocksdb_options_set_enable_blob_files(options, 1);
  rocksdb_options_add_eventlistener(options,
                                    rocksdb_eventlistener_create(&destroyed, destroy, NULL, flush_completed, NULL, NULL,
                                                                 NULL, NULL, NULL, NULL, NULL, NULL));
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_put(db, writes, "a", 1, "1", 1, &err);
  rocksdb_put(db, writes, "b", 1, "2", 1, &err);
  CHECK_OK(err);

  /* Reads the writes back from the WAL. */
  rocksdb_wal_iterator_t* updates = rocksdb_get_updates_since(db, 2, NULL, &err);
  CHECK_OK(err);
  uint64_t sequence = 0;
  rocksdb_writebatch_t* batch = rocksdb_wal_iter_get_batch(updates, &sequence);
  CHECK(sequence == 2 && rocksdb_writebatch_count(batch) == 1);
  rocksdb_writebatch_destroy(batch);
  rocksdb_wal_iter_next(updates);
  CHECK(!rocksdb_wal_iter_valid(updates));
  rocksdb_wal_iter_destroy(updates);

  CHECK(rocksdb_options_statistics_get_ticker_count(options, 61) > 0); /* bytes written */
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  /* Without the option a flush may return before its listener is called. */
  rocksdb_flushoptions_set_listener_wait(flush, 1);
  rocksdb_flush(db, flush, &err);
  CHECK_OK(err);
  rocksdb_flushoptions_destroy(flush);
  CHECK(flushes == 1);

  rocksdb_column_family_metadata_t* metadata = rocksdb_get_column_family_metadata(db);
  CHECK(rocksdb_column_family_metadata_get_file_count(metadata) == 1);
  rocksdb_level_metadata_t* level = rocksdb_column_family_metadata_get_level_metadata(metadata, 0);
  CHECK(rocksdb_level_metadata_get_file_count(level) == 1);
  rocksdb_level_metadata_destroy(level);
  rocksdb_column_family_metadata_destroy(metadata);
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  CHECK(rocksdb_livefiles_count(files) == 1 && rocksdb_livefiles_entries(files, 0) == 2);
  CHECK(rocksdb_livefiles_name(files, 1) == NULL);
  rocksdb_livefiles_destroy(files);

  changes(db);
  rocksdb_close(db);
  loaded_options(argv[1]);
  CHECK(destroyed == 0);
  rocksdb_options_destroy(options);
  CHECK(destroyed == 1);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
