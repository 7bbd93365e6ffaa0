//! Examples of valid lines, out of the reference of every key.
//!
//! `docs/scenario.md` is the one place that lists the keys. Errors take their examples from it, and
//! tests hold it complete and its examples valid.

#[cfg(test)]
mod tests;

/// A valid line for the key at `path`, or for the nearest section around it.
pub(super) fn example(path: &str) -> String {
    // No key of the reference has more parts; what a file holds can have thousands.
    let deepest = path.match_indices('.').nth(DEEPEST).map_or(path.len(), |(at, _)| at);
    let mut path = &path[..deepest];
    loop {
        if let Some(row) = rows().find(|row| row.key == path) {
            return row.example.to_owned();
        }
        path = match path.rsplit_once('.') {
            Some((section, _)) => section,
            None if path == FIRST => return String::new(),
            None => FIRST,
        };
    }
}

/// A row of the reference.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Row<'a> {
    /// The key without indices, such as `client.layer.timeout`.
    pub(super) key: &'a str,
    /// A valid line.
    pub(super) example: &'a str,
}

/// The rows of the reference, in its order. A row begins with its key and ends with its example.
pub(super) fn rows() -> impl Iterator<Item = Row<'static>> {
    REFERENCE.lines().filter_map(|line| {
        let cells = line.strip_prefix("| `")?.strip_suffix("` |")?;
        let (key, rest) = cells.split_once("` |")?;
        let (_, example) = rest.rsplit_once("| `")?;
        Some(Row { key, example })
    })
}

const REFERENCE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md"));
/// The key whose example stands in where there is none nearer.
const FIRST: &str = "name";
/// How many dots a key of the reference has at most.
const DEEPEST: usize = 3;
