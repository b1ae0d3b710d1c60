/* Files that a caller lists, and the sizes of ranges. */
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
  CHECK(strcmp(rocksdb_livefiles_column_family_name(files, 0), "exported") == 0);
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
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
