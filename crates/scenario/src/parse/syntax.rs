use super::reader::Finding;
use super::reference;
use crate::model::Plan;

/// What the TOML parser could not read: the first error of each line, since the others follow from it.
pub(super) fn findings(text: &str, errors: &[toml::de::Error]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for error in errors.iter().take(MOST) {
        let offset = error.span().map_or(0, |span| span.start).min(text.len());
        let same_line = |last: &Finding| {
            let (from, to) = (last.offset.min(offset), last.offset.max(offset));
            !text.as_bytes()[from..to].contains(&b'\n')
        };
        if !findings.last().is_some_and(same_line) {
            findings.push(finding(text, error, offset));
        }
    }
    findings
}

/// An error, with the key that it stands at.
fn finding(text: &str, error: &toml::de::Error, offset: usize) -> Finding {
    let key = key_around(text, offset);
    let example = reference::example(&key);
    let message = error.message().replace('\n', " ");
    Finding { offset, key, message, arm: None, example }
}

/// What is wrong with a text that is longer than a scenario can be.
pub(super) fn too_long(text: &str) -> Option<Finding> {
    (text.len() > Plan::LONGEST).then(|| Finding {
        offset: 0,
        key: "file".into(),
        message: format!("has more than the {} bytes that a scenario may have", Plan::LONGEST),
        arm: None,
        example: reference::example("name"),
    })
}

/// The line and the column of a place in the text, both from 1; columns count characters.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The key of the line at `offset`, with the section that it stands in, as far as broken text tells.
fn key_around(text: &str, offset: usize) -> String {
    let mut offset = offset;
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next().unwrap_or_default().trim();
    if line.starts_with('[') {
        return line.trim_matches(['[', ']', ' ']).to_owned();
    }
    let header = text[..start].lines().rev().map(str::trim).find(|line| line.starts_with('['));
    let section = header.map(|line| line.trim_matches(['[', ']', ' ']));
    let key = line.split('=').next().unwrap_or_default().trim();
    match section {
        Some(section) if key.is_empty() => section.to_owned(),
        Some(section) => format!("{section}.{key}"),
        None => key.to_owned(),
    }
}

/// How many syntax errors are looked at: broken text has as many as it has characters.
const MOST: usize = 100;
