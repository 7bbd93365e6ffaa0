use crate::model::{Cause, Verdict};

/// A verdict with its cause, as it stands in tables and sentences: `metastable`,
/// `not-recovered: overloaded`.
pub fn named(verdict: Verdict, cause: Option<Cause>) -> String {
    match cause {
        Some(cause) => format!("{verdict}: {cause}"),
        None => verdict.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_stands_behind_its_verdict() {
        assert_eq!(named(Verdict::NotRecovered, Some(Cause::Down)), "not-recovered: down");
        assert_eq!(named(Verdict::Metastable, None), "metastable");
    }
}
