//! An option that is lost, and the kind of the loss.

use std::fmt;

/// The kind of loss from an option that Esker does not have.
///
/// ```
/// use esker::OptionLoss;
///
/// // With `Options::strict_options_file` an open refuses options with such a loss.
/// assert!(OptionLoss::Durability.is_refused());
/// assert!(!OptionLoss::Cost.is_refused());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionLoss {
    /// Reads, writes or the open may have other results than in RocksDB.
    Results,
    /// Less data survives a crash than in RocksDB, or damage is detected later.
    Durability,
    /// The files of the database take more space.
    Space,
    /// The option costs time or memory, and loses nothing else.
    Cost,
    /// No release of RocksDB that Esker knows has an option of that name, or the option with that value.
    Unknown,
}

impl OptionLoss {
    /// The name of the loss, one word.
    pub fn name(self) -> &'static str {
        match self {
            OptionLoss::Results => "results",
            OptionLoss::Durability => "durability",
            OptionLoss::Space => "space",
            OptionLoss::Cost => "cost",
            OptionLoss::Unknown => "unknown",
        }
    }

    /// True if a database with strict options
    /// ([`strict_options_file`](crate::Options::strict_options_file)) is not opened with this loss.
    pub fn is_refused(self) -> bool {
        self != OptionLoss::Cost
    }
}

/// An option without effect in Esker that is not at RocksDB's default, from an OPTIONS file or from the
/// caller. Its `Display` is one line.
///
/// ```
/// use esker::{Event, EventListener, LostOption};
///
/// /// Collects the options that Esker keeps without an effect.
/// #[derive(Default)]
/// struct Lost(std::sync::Mutex<Vec<LostOption>>);
///
/// impl EventListener for Lost {
///     fn on_event(&self, event: &Event) {
///         if let Event::OptionLost(option) = event {
///             self.0.lock().unwrap().push(option.clone());
///         }
///     }
/// }
/// # Lost::default().on_event(&Event::WalCreated { wal: 7 });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostOption {
    /// The section's title with its argument: `CFOptions "default"`.
    pub section: String,
    /// The column family of the section, if it has one.
    pub column_family: Option<String>,
    /// The option's name in RocksDB.
    pub name: String,
    /// The value as it is in the file.
    pub value: String,
    /// The kind of loss.
    pub loss: OptionLoss,
    /// The description of the loss, one sentence.
    pub what: &'static str,
}

impl fmt::Display for LostOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LostOption {
            section,
            name,
            value,
            loss,
            what,
            ..
        } = self;
        write!(
            f,
            "OPTIONS [{section}] {name}={value} has no effect ({}): {what}",
            loss.name()
        )
    }
}
