//! Each event is declared once, as a row: the time at which it is sent, its fields, its text, its level, and
//! its lines in the info log.

/// Declares the events from their rows. A row reads `Variant { field: Type, ... } => { text: (format,
/// arguments), level: Level, [log: lines,] [json: object,] }` under its doc comment. Its expressions have the
/// fields as references.
///
/// * `text` is the event's `Display`.
/// * `level` is the level of the text in the info log and of the event in the crate `tracing`.
/// * `log` has the lines in the info log, as an iterator of strings, if they are not the text.
/// * `json` is the event as an object for programs that read the info log, a `Json` or an `Option<Json>`. It
///   is always logged at the level Info, as in RocksDB.
macro_rules! event_rows {
    (
        $(#[$meta:meta])*
        pub enum Event {
            $(
                $(#[$doc:meta])+
                $variant:ident
                $({ $($(#[$field_doc:meta])* $field:ident: $type:ty),+ $(,)? })?
                $(($value:ident: $value_type:ty))?
                => {
                    text: ($($text:tt)+),
                    level: $level:expr,
                    $(log: $log:expr,)?
                    $(json: $json:expr,)?
                }
            )+
        }
    ) => {
        $(#[$meta])*
        pub enum Event {
            $(
                $(#[$doc])+
                $variant $({ $($(#[$field_doc])* $field: $type),+ })? $(($value_type))?,
            )+
        }

        #[expect(unused_variables, reason = "each expression uses some of the fields of its row")]
        impl Event {
            /// The name of the variant.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Event::$variant { .. } => stringify!($variant), )+
                }
            }

            /// The column family of the event; `None` if the event concerns the database.
            pub fn family(&self) -> Option<&str> {
                let family: Option<&String> = match self {
                    $( Event::$variant { $($($field,)+)? .. } => {
                        $crate::events::rows::field!(family in $($($field $field)+)?)
                    } )+
                };
                family.map(String::as_str).filter(|family| !family.is_empty())
            }

            /// The number of the job that the event belongs to; `None` if it belongs to no job.
            pub fn job(&self) -> Option<u64> {
                let job: Option<&u64> = match self {
                    $( Event::$variant { $($($field,)+)? .. } => {
                        $crate::events::rows::field!(job in $($($field $field)+)?)
                    } )+
                };
                job.copied()
            }

            /// The level of the event's line in the info log.
            pub fn level(&self) -> InfoLogLevel {
                use InfoLogLevel::{Debug, Error, Info, Warn};
                match self {
                    $( Event::$variant $({ $($field),+ })? $(($value))? => $level, )+
                }
            }

            /// The lines of the event in the info log, at the event's level.
            pub(crate) fn log_lines(&self) -> Vec<String> {
                match self {
                    $( Event::$variant $({ $($field),+ })? $(($value))? => {
                        $crate::events::rows::lines!(self $(, $log)?)
                    } )+
                }
            }

            /// The event as an object for programs that read the info log.
            pub(crate) fn json(&self) -> Option<Json> {
                match self {
                    $( Event::$variant $({ $($field),+ })? $(($value))? => {
                        $crate::events::rows::object!($($json)?)
                    } )+
                }
            }
        }

        #[expect(unused_variables, reason = "each text uses some of the fields of its row")]
        impl std::fmt::Display for Event {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $( Event::$variant $({ $($field),+ })? $(($value))? => write!(f, $($text)+), )+
                }
            }
        }
    };
}
pub(super) use event_rows;

/// The field of a row that has the name `family` or `job`, if there is one. Each field is listed as its name
/// and its variable.
macro_rules! field {
    (family in family $value:ident $($others:ident)*) => { Some($value) };
    (job in job $value:ident $($others:ident)*) => { Some($value) };
    ($wanted:ident in $other:ident $value:ident $($others:ident)*) => {
        $crate::events::rows::field!($wanted in $($others)*)
    };
    ($wanted:ident in) => { None };
}
pub(super) use field;

/// The lines of a row; without lines of its own, the text of the event.
macro_rules! lines {
    ($event:ident, $lines:expr) => {
        Vec::from_iter($lines)
    };
    ($event:ident) => {
        vec![$event.to_string()]
    };
}
pub(super) use lines;

/// The object of a row; `None` without one.
macro_rules! object {
    ($object:expr) => {
        $object.into()
    };
    () => {
        None
    };
}
pub(super) use object;
