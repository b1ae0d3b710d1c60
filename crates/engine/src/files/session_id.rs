//! The id of a session, which is written to its files.

use base::env;

/// Creates the id of a session: 20 characters of base 36.
pub(crate) fn new_session_id() -> String {
    let mut rng = env::Rng::with_seed(env::fresh_seed());
    (0..20)
        .map(|_| char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rng.usize(..36)]))
        .collect()
}
