//! Events in RocksDB's log format: lines for people, and `EVENT_LOG_v1` lines for tools.

use super::InfoLog;
use crate::events::{Event, EventListener, Json};
use crate::options::logger::InfoLogLevel;

impl EventListener for InfoLog {
    fn on_event(&self, event: &Event) {
        let level = event.level();
        if self.takes(level) {
            for line in event.log_lines() {
                self.write_from(level, file!(), line!(), format_args!("{line}"));
            }
        }
        if !self.takes(InfoLogLevel::Info) {
            return;
        }
        if let Some(fields) = event.json() {
            let json = Json::new()
                .number("time_micros", self.clock.unix_micros())
                .number("job", event.job().unwrap_or(0))
                .fields(fields);
            self.write(InfoLogLevel::Info, &format!("EVENT_LOG_v1 {}", json.finish()));
        }
    }
}
