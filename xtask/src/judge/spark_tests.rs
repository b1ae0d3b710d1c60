//! Spark's own tests of its state stores in RocksDB.

use super::classes::{self, Classes, Framework};
use super::{Count, Fault, jvm};

/// Spark accesses parts of the platform that Java closes.
const OPTIONS: &[&str] = &[
    "-ea",
    "-Xmx3g",
    "-Xss4m",
    "-Dspark.testing=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "--add-opens=java.base/java.lang.invoke=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.net=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.cs=ALL-UNNAMED",
    "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
    "--add-opens=java.base/sun.util.calendar=ALL-UNNAMED",
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
];

/// Runs the suites, or the named ones.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    let library = jvm::library()?;
    let project = classes::project("spark-tests", Framework::ScalaTest)?;
    let names = classes::in_jar(&project, "spark-sql_2.13-4.2.0-tests.jar", |class| {
        let name = class.rsplit('/').next().unwrap_or(class);
        name.starts_with("RocksDB") && name.contains("Suite")
    })?;
    let classes = Classes {
        project: "spark-tests",
        framework: Framework::ScalaTest,
        names,
        seconds: 1500,
        options: OPTIONS,
        beside_rocksdb: true,
    };
    classes::run(&classes, &project, &library, words)
}
