/**
 * What Esker's library has for Java that org.rocksdb has no classes for: merge operators and compaction filters that are written in Java.
 *
 * <p>The classes must be loaded by the class loader that has loaded org.rocksdb, and that has loaded Esker's library: call {@code
 * RocksDB.loadLibrary()} first. Over RocksDB's own library their constructors throw an {@code UnsatisfiedLinkError}.
 */
package dev.esker;
