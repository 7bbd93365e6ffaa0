use std::fmt;

/// A scenario that cannot be run, with everything wrong that was found in the file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", self.text())]
pub struct ScenarioError {
    /// The file's name, as it was given.
    pub file: String,
    /// What is wrong, in the order of the file; never empty.
    pub problems: Vec<Problem>,
    /// How many more problems there are beyond [`ScenarioError::MOST`].
    pub left_out: usize,
}

impl ScenarioError {
    /// How many problems are told at most.
    pub const MOST: usize = 20;

    fn text(&self) -> String {
        let lines = self.problems.iter().map(|problem| format!("{}:{problem}", self.file));
        let more = (self.left_out > 0).then(|| format!("and {} more problems", self.left_out));
        lines.chain(more).collect::<Vec<_>>().join("\n")
    }
}

/// One thing that is wrong in a scenario file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key, such as `client.layer.timeout`.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
    /// The arm in which it shows, where the scenario above the arms has no such problem.
    pub arm: Option<String>,
    /// A valid line.
    pub example: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, key, message, arm, example } = self;
        write!(f, "{line}:{column}: `{key}`: {message}")?;
        if let Some(arm) = arm {
            write!(f, " (in arm `{arm}`)")?;
        }
        write!(f, "\n    for example: {example}")
    }
}

/// An arm that a scenario does not have.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("scenario `{scenario}` has no arm `{arm}`; {}", self.choice())]
pub struct UnknownArm {
    /// The scenario's name.
    pub scenario: String,
    /// The arm that was asked for.
    pub arm: String,
    /// The arms that it has.
    pub arms: Vec<String>,
}

impl UnknownArm {
    fn choice(&self) -> String {
        match self.arms.first() {
            None => "it has none: leave `--arm` out".into(),
            Some(first) => format!("it has {}, for example: {first}", self.arms.join(", ")),
        }
    }
}
