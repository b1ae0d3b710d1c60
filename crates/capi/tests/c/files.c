/* Files that a caller lists, and the sizes of ranges. */
#define _DEFAULT_SOURCE
#include <unistd.h>

#include "check.h"

/* Imports an exported family by a list of files that the caller has assembled. */
static void import_files(rocksdb_t* db, rocksdb_options_t* options, rocksdb_writeoptions_t* writes,
                         rocksdb_readoptions_t* reads, const char* dir) {
  char* err = NULL;
  size_t length = 0;
  rocksdb_column_family_handle_t* from = rocksdb_create_column_family(db, options, "exported", &err);
  CHECK_OK(err);
  rocksdb_put_cf(db, writes, from, "k", 1, "v", 1, &err);
  CHECK_OK(err);
  /* Rows in memory count if the caller requests them. */
  const char *first = "a", *behind = "z";
  size_t one = 1;
  uint64_t size = 7;
  rocksdb_size_approximation_options_t* what = rocksdb_size_approximation_options_create();
  rocksdb_approximate_sizes_cf_with_options(db, from, what, 1, &first, &one, &behind, &one, &size, &err);
  CHECK_OK(err);
  CHECK(size == 0);
  rocksdb_approximate_sizes_cf_with_flags(db, from, 1, &first, &one, &behind, &one,
                                          rocksdb_size_approximation_flags_include_memtable, &size, &err);
  CHECK_OK(err);
  CHECK(size > 0);
  rocksdb_size_approximation_options_set_include_files(what, 0);
  rocksdb_approximate_sizes_cf_with_options(db, from, what, 1, &first, &one, &behind, &one, &size, &err);
  CHECK(err != NULL && strncmp(err, "Invalid argument: ", 18) == 0);
  free(err);
  err = NULL;
  rocksdb_size_approximation_options_destroy(what);

  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(db, &err);
  CHECK_OK(err);
  rocksdb_export_import_files_metadata_t* exported =
      rocksdb_checkpoint_export_column_family(checkpoint, from, dir, &err);
  CHECK_OK(err);
  rocksdb_livefiles_t* files = rocksdb_export_import_files_metadata_get_files(exported);
  CHECK(rocksdb_livefiles_count(files) == 1);
  CHECK(strcmp(rocksdb_livefiles_column_family_name(files, 0), "") == 0);
  char* order = rocksdb_export_import_files_metadata_get_db_comparator_name(exported);

  rocksdb_livefile_t* file = rocksdb_livefile_create();
  rocksdb_livefile_set_column_family_name(file, "exported");
  rocksdb_livefile_set_level(file, rocksdb_livefiles_level(files, 0));
  rocksdb_livefile_set_name(file, rocksdb_livefiles_name(files, 0));
  rocksdb_livefile_set_directory(file, rocksdb_livefiles_directory(files, 0));
  rocksdb_livefile_set_size(file, rocksdb_livefiles_size(files, 0));
  rocksdb_livefile_set_smallest_key(file, "k", 1);
  rocksdb_livefile_set_largest_key(file, "k", 1);
  rocksdb_livefile_set_smallest_seqno(file, rocksdb_livefiles_smallest_seqno(files, 0));
  rocksdb_livefile_set_largest_seqno(file, rocksdb_livefiles_largest_seqno(files, 0));
  rocksdb_livefile_set_num_entries(file, 1);
  rocksdb_livefile_set_num_deletions(file, 0);
  rocksdb_livefiles_t* own = rocksdb_livefiles_create();
  rocksdb_livefiles_add(own, file);
  rocksdb_livefile_destroy(file);
  rocksdb_export_import_files_metadata_t* given = rocksdb_export_import_files_metadata_create();
  rocksdb_export_import_files_metadata_set_db_comparator_name(given, order);
  rocksdb_export_import_files_metadata_set_files(given, own);
  rocksdb_livefiles_destroy(own);
  rocksdb_livefiles_destroy(files);
  rocksdb_free(order);
  rocksdb_import_column_family_options_t* how = rocksdb_import_column_family_options_create();
  rocksdb_column_family_handle_t* to =
      rocksdb_create_column_family_with_import(db, options, "imported", how, given, &err);
  CHECK_OK(err);
  char* value = rocksdb_get_cf(db, reads, to, "k", 1, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "v"));

  /* A table whose keys are all in the range is deleted. */
  rocksdb_compact_range_cf(db, to, NULL, 0, NULL, 0);
  rocksdb_delete_file_in_range_cf(db, to, "a", 1, "z", 1, &err);
  CHECK_OK(err);
  rocksdb_increase_full_history_ts_low(db, to, "t", 1, &err);
  CHECK(err != NULL && strncmp(err, "Invalid argument: ", 18) == 0);
  free(err);
  err = NULL;
  rocksdb_import_column_family_options_destroy(how);
  rocksdb_export_import_files_metadata_destroy(given);
  rocksdb_export_import_files_metadata_destroy(exported);
  rocksdb_checkpoint_object_destroy(checkpoint);
  rocksdb_column_family_handle_destroy(to);
  rocksdb_column_family_handle_destroy(from);
}

/* Writes a key and flushes it to a table. */
static void write_table(rocksdb_t* db, rocksdb_writeoptions_t* writes, const char* key) {
  char* err = NULL;
  rocksdb_put(db, writes, key, strlen(key), "v", 1, &err);
  CHECK_OK(err);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush, &err);
  CHECK_OK(err);
  rocksdb_flushoptions_destroy(flush);
}

/* One manager counts the tables of two databases, limits their space, and paces their deletion. */
static void managed(rocksdb_options_t* options, rocksdb_writeoptions_t* writes, const char* dir) {
  char* err = NULL;
  char places[2][4200];
  rocksdb_t* db[2];
  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_sst_file_manager_t* manager = rocksdb_sst_file_manager_create(env);
  rocksdb_options_set_sst_file_manager(options, manager);
  for (int i = 0; i < 2; i++) {
    snprintf(places[i], sizeof(places[i]), "%s-%d", dir, i);
    db[i] = rocksdb_open(options, places[i], &err);
    CHECK_OK(err);
  }
  CHECK(rocksdb_sst_file_manager_get_total_size(manager) == 0);
  write_table(db[0], writes, "a");
  uint64_t first = rocksdb_sst_file_manager_get_total_size(manager);
  CHECK(first > 0);
  write_table(db[1], writes, "b");
  uint64_t both = rocksdb_sst_file_manager_get_total_size(manager);
  CHECK(both > first);
  CHECK(!rocksdb_sst_file_manager_is_max_allowed_space_reached(manager));
  CHECK(!rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(manager));

  /* The database that reaches the limit stops, and goes on when there is room. */
  rocksdb_sst_file_manager_set_max_allowed_space_usage(manager, both);
  CHECK(rocksdb_sst_file_manager_is_max_allowed_space_reached(manager));
  CHECK(rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(manager));
  rocksdb_put(db[0], writes, "c", 1, "v", 1, &err);
  CHECK_OK(err);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(db[0], flush, &err);
  CHECK(err != NULL && strstr(err, "Max allowed space was reached") != NULL);
  free(err);
  err = NULL;
  rocksdb_flushoptions_destroy(flush);
  rocksdb_sst_file_manager_set_max_allowed_space_usage(manager, 0);
  rocksdb_sst_file_manager_set_compaction_buffer_size(manager, 1 << 20);

  /* At one byte in a second, replaced tables wait as trash. */
  rocksdb_sst_file_manager_set_max_trash_db_ratio(manager, -1.0);
  CHECK(rocksdb_sst_file_manager_get_max_trash_db_ratio(manager) == 0.25);
  rocksdb_sst_file_manager_set_max_trash_db_ratio(manager, 1000.0);
  rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(manager, 1);
  CHECK(rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(manager) == 1);
  write_table(db[1], writes, "a");
  write_table(db[1], writes, "b");
  rocksdb_compact_range(db[1], NULL, 0, NULL, 0);
  while (rocksdb_sst_file_manager_get_total_trash_size(manager) == 0) usleep(1000);
  rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(manager, 0);

  /* The databases keep the manager. */
  rocksdb_sst_file_manager_destroy(manager);
  for (int i = 0; i < 2; i++) rocksdb_close(db[i]);
  rocksdb_options_set_sst_file_manager(options, NULL);
  for (int i = 0; i < 2; i++) {
    rocksdb_destroy_db(options, places[i], &err);
    CHECK_OK(err);
  }
  rocksdb_env_destroy(env);
}

/* Rows of tables that Gets have found are in the row cache. */
static void cached_rows(rocksdb_options_t* options, rocksdb_writeoptions_t* writes, const char* dir) {
  char* err = NULL;
  char place[4200];
  snprintf(place, sizeof(place), "%s-rows", dir);
  rocksdb_cache_t* cache = rocksdb_cache_create_lru(1 << 20);
  rocksdb_options_set_row_cache(options, cache);
  rocksdb_t* db = rocksdb_open(options, place, &err);
  CHECK_OK(err);
  write_table(db, writes, "k");
  CHECK(rocksdb_cache_get_occupancy_count(cache) == 0);
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  /* The time of a read of a file has no effect on the file system of the machine. */
  rocksdb_readoptions_set_io_timeout(reads, 1);
  CHECK(rocksdb_readoptions_get_io_timeout(reads) == 1);
  size_t length = 0;
  char* value = rocksdb_get(db, reads, "k", 1, &length, &err);
  CHECK(is_value(value, length, "v"));
  CHECK(rocksdb_cache_get_occupancy_count(cache) == 1);
  size_t cells = rocksdb_cache_get_table_address_count(cache);
  CHECK(cells >= 1 && (cells & (cells - 1)) == 0);
  rocksdb_cache_t* clock_cache = rocksdb_cache_create_hyper_clock(1 << 20, 4096);
  /* 256 entries fill two thirds of the table. */
  cells = rocksdb_cache_get_table_address_count(clock_cache);
  CHECK(cells >= 384 && (cells & (cells - 1)) == 0);
  rocksdb_cache_destroy(clock_cache);
  rocksdb_cache_destroy(cache);
  value = rocksdb_get(db, reads, "k", 1, &length, &err);
  CHECK(is_value(value, length, "v"));

  /* With pin_data, the bytes of passed rows stay where they are. */
  write_table(db, writes, "l");
  rocksdb_readoptions_set_pin_data(reads, 1);
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  rocksdb_iter_seek_to_first(iter);
  const char* passed = rocksdb_iter_key(iter, &length);
  CHECK(length == 1 && *passed == 'k');
  rocksdb_iter_next(iter);
  CHECK(rocksdb_iter_valid(iter));
  rocksdb_iter_next(iter);
  CHECK(!rocksdb_iter_valid(iter));
  CHECK(*passed == 'k');
  rocksdb_iter_destroy(iter);
  rocksdb_readoptions_destroy(reads);
  rocksdb_close(db);
  rocksdb_options_set_row_cache(options, NULL);
  rocksdb_destroy_db(options, place, &err);
  CHECK_OK(err);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  char dir[4096];
  snprintf(dir, sizeof(dir), "%s-exported", argv[1]);
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  import_files(db, options, writes, reads, dir);
  rocksdb_close(db);
  snprintf(dir, sizeof(dir), "%s-managed", argv[1]);
  managed(options, writes, dir);
  cached_rows(options, writes, dir);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
