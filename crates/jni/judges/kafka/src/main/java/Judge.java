import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/**
 * A topology with every kind of store of Kafka Streams. It prints the final contents of its stores, one fact
 * per line.
 *
 * <p>Arguments: {@code RECORDS} runs the topology over so many records of each topic. {@code kill DIR COMMITTED RECORDS}
 * commits the stores in DIR after COMMITTED records, and kills the JVM after RECORDS. {@code end DIR COMMITTED RECORDS}
 * continues there after the last commit, as Kafka Streams does after a crash.
 */
public final class Judge {
  private static final int KEYS = 50;
  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

  public static void main(final String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "kill":
        kill(arguments[1], Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]));
        break;
      case "end":
        run(arguments[1], Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]));
        break;
      default:
        run(Files.createTempDirectory("judge").toString(), 0, Integer.parseInt(arguments[0]));
    }
    System.exit(0);
  }

  private static void run(final String dir, final int from, final int records) throws Exception {
    try (TopologyTestDriver driver = open(dir)) {
      if (from > 0) {
        // The stores have exactly the committed records.
        show("committed", driver.getTimestampedKeyValueStore("counts").all());
        show("committed windows", driver.getTimestampedWindowStore("windows").all());
      }
      feed(driver, from, records);
      facts(driver);
      // Reads every gauge, including those of RocksDB's properties and tickers.
      final long read = driver.metrics().values().stream().filter(metric -> metric.metricValue() != null).count();
      System.out.println("metrics " + (read > 0));
    }
  }

  private static void kill(final String dir, final int committed, final int records) throws Exception {
    final TopologyTestDriver driver = open(dir);
    feed(driver, 0, committed);
    driver.getAllStateStores().values().forEach(store -> store.commit(Map.of()));
    feed(driver, committed, records);
    // Another program kills the JVM, which cannot end itself without running its shutdown hooks.
    new ProcessBuilder("kill", "-KILL", Long.toString(ProcessHandle.current().pid())).start().waitFor();
    throw new IllegalStateException("the JVM is still there");
  }

  private static TopologyTestDriver open(final String dir) {
    final Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "judge");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "nowhere:1");
    properties.put(StreamsConfig.METRICS_RECORDING_LEVEL_CONFIG, "DEBUG");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, dir);
    return new TopologyTestDriver(topology().build(), properties);
  }

  private static StreamsBuilder topology() {
    final StreamsBuilder builder = new StreamsBuilder();
    final Consumed<String, String> strings = Consumed.with(Serdes.String(), Serdes.String());
    final KStream<String, String> in = builder.stream("in", strings);
    final KGroupedStream<String, String> grouped = in.groupByKey(Grouped.with(Serdes.String(), Serdes.String()));
    grouped.count(Materialized.as("counts"));
    grouped.windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1))).count(Materialized.as("windows"));
    grouped.windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofSeconds(4))).count(Materialized.as("sessions"));
    final KTable<String, String> table =
        builder.table("table", strings, Materialized.as(Stores.persistentVersionedKeyValueStore("versioned", Duration.ofHours(1))));
    in.join(table, (a, b) -> a + b, Joined.with(Serdes.String(), Serdes.String(), Serdes.String()))
        .to("joined", Produced.with(Serdes.String(), Serdes.String()));
    in.join(builder.stream("other", strings), (a, b) -> a + b, JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofSeconds(10)),
            StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String()))
        .to("pairs", Produced.with(Serdes.String(), Serdes.String()));
    return builder;
  }

  private static void feed(final TopologyTestDriver driver, final int from, final int records) {
    final Duration step = Duration.ofMillis(100);
    final Instant start = START.plus(step.multipliedBy(from));
    final List<TestInputTopic<String, String>> topics = new ArrayList<>();
    for (final String name : List.of("table", "in", "other")) {
      topics.add(driver.createInputTopic(name, new StringSerializer(), new StringSerializer(), start, step));
    }
    for (int i = from; i < records; i++) {
      for (final TestInputTopic<String, String> topic : topics) {
        topic.pipeInput("k" + i % KEYS, "v" + i);
      }
    }
  }

  private static void facts(final TopologyTestDriver driver) {
    final KeyValueStore<String, ValueAndTimestamp<Long>> counts = driver.getTimestampedKeyValueStore("counts");
    show("counts", counts.all());
    show("range", counts.range("k1", "k3"));
    show("reverse", counts.reverseAll());
    show("prefix", counts.prefixScan("k1", new StringSerializer()));
    counts.putIfAbsent("new", ValueAndTimestamp.make(1L, 1L));
    counts.delete("k7");
    System.out.println("changed " + counts.get("new").value() + " " + counts.get("k7"));
    show("windows", driver.getTimestampedWindowStore("windows").all());
    show("sessions", driver.getSessionStore("sessions").fetch("k7"));
    final var versioned = driver.getVersionedKeyValueStore("versioned");
    System.out.println("versioned " + versioned.get("k8") + " " + versioned.get("k8", START.plusSeconds(30).toEpochMilli()));
    for (final String topic : List.of("joined", "pairs")) {
      final var values = driver.createOutputTopic(topic, new StringDeserializer(), new StringDeserializer()).readValuesToList();
      System.out.println(topic + " " + values.size() + " " + values.hashCode());
    }
    driver.getAllStateStores().values().forEach(store -> System.out.println("open " + store.name() + " " + store.isOpen()));
  }

  private static <K, V> void show(final String name, final KeyValueIterator<K, V> rows) {
    int count = 0;
    final StringBuilder text = new StringBuilder();
    try (rows) {
      while (rows.hasNext()) {
        text.append(rows.next()).append('\n');
        count++;
      }
    }
    System.out.println(name + " " + count + " " + text.toString().hashCode());
  }
}
