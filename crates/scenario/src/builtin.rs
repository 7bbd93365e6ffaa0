//! The scenarios that come with goodput, as text.

/// A scenario that comes with goodput.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Builtin {
    /// Its name, which is also the scenario's.
    pub name: &'static str,
    /// Its file in the project, as errors name it.
    pub file: &'static str,
    /// What the file holds.
    pub text: &'static str,
}

macro_rules! builtin {
    ($name:literal) => {
        Builtin {
            name: $name,
            file: concat!("scenarios/", $name, ".toml"),
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../scenarios/",
                $name,
                ".toml"
            )),
        }
    };
}

/// A 20 s cut of capacity that becomes a permanent outage: what `goodput demo` shows.
pub const DATABASE_FAILOVER: Builtin = builtin!("database-failover");
/// A full stall that sticks above the safe load and is forgotten below it.
pub const STALL_AND_PUT_BACK: Builtin = builtin!("stall-and-put-back");
/// Three retry layers against one.
pub const RETRY_LAYERS: Builtin = builtin!("retry-layers");
/// A cut that is short enough to be absorbed.
pub const SHORT_DIP: Builtin = builtin!("short-dip");
/// Four rows of a published experiment, of which one sticks; for virtual time.
pub const MONGODB_RETRIES: Builtin = builtin!("mongodb-retries");
/// No fault.
pub const STEADY: Builtin = builtin!("steady");

/// All of them, the headline first.
pub const ALL: [Builtin; 6] =
    [DATABASE_FAILOVER, STALL_AND_PUT_BACK, RETRY_LAYERS, MONGODB_RETRIES, SHORT_DIP, STEADY];

/// The scenario of that name.
pub fn by_name(name: &str) -> Option<Builtin> {
    ALL.into_iter().find(|builtin| builtin.name == name)
}
