/**
 * Merge operators and compaction filters in Java: Esker's library has them, and org.rocksdb has no classes
 * for them.
 *
 * <p>The classes must be loaded by the class loader that has loaded org.rocksdb and Esker's library: call
 * {@code RocksDB.loadLibrary()} first. With RocksDB's own library their constructors throw an {@code
 * UnsatisfiedLinkError}.
 */
package dev.esker;
