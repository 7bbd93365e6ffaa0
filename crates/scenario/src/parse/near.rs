/// The names that `wrong` may have been meant for, nearest first.
pub(crate) fn near<'a>(wrong: &str, names: &[&'a str]) -> Vec<&'a str> {
    let wrong = wrong.to_lowercase().replace('-', "_");
    let most = (wrong.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<_> = names
        .iter()
        .map(|name| (distance(&wrong, &name.to_lowercase().replace('-', "_")), *name))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, name)| name).collect()
}

/// `; did you mean …?`, or what there is to choose from.
pub(crate) fn hint(wrong: &str, names: &[&str]) -> String {
    let quote = |names: &[&str]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    match near(wrong, names).as_slice() {
        [] if names.is_empty() => String::new(),
        [] => format!("; there is {}", quote(names)),
        near => format!("; did you mean {}?", quote(near).replace(", ", " or ")),
    }
}

/// How many characters must be inserted, removed, replaced or swapped with their neighbour to turn
/// `a` into `b` (optimal string alignment). Long names are cut off: nobody mistypes 64 characters.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(LONGEST).collect();
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replace = last[j] + usize::from(from != to);
            let mut best = replace.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_recognised_and_other_words_are_not() {
        let names = ["rate", "arrivals", "retries", "retry_on"];
        assert_eq!(near("rtae", &names), ["rate"]);
        assert_eq!(near("arival", &names), ["arrivals"]);
        assert_eq!(near("Retry-On", &names), ["retry_on"]);
        assert!(near("capacity", &names).is_empty());
    }
}
