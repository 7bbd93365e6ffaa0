//! What all checks of configurations answer with.

use serde::{Deserialize, Deserializer};

/// A value that its type allows and its meaning does not.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{key}` {problem}")]
pub struct InvalidConfig {
    /// The key at fault, as it is written in files.
    pub key: &'static str,
    /// What is wrong with it, and what is valid.
    pub problem: &'static str,
}

/// Reads a variant without keys of an enum with a tag, and refuses any: serde lets unknown keys of
/// such a variant pass.
pub(crate) fn no_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NoKeys {}

    NoKeys::deserialize(deserializer).map(|NoKeys {}| ())
}
