use super::{check_name, check_unique};
use crate::model::{ExpectedVerdict, Scenario};
use crate::parse::{Path, Reader, written};

/// What an arm says besides what it sets.
#[derive(Debug)]
pub(crate) struct ArmHead {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) control: bool,
}

/// Reads the heads of all arms.
pub(crate) fn arm_heads(reader: &mut Reader<'_, '_>, list: &Path) -> Option<Vec<(Path, ArmHead)>> {
    let written = reader.list::<written::Arm>(list, &["expect", "set"]);
    if written.len() > MOST_ARMS {
        let count = written.len();
        reader.problem(list, format!("there are {count} arms, but at most {MOST_ARMS} can be"));
        return None;
    }
    let heads: Vec<_> = written
        .into_iter()
        .map(|(path, arm)| {
            let name = reader.require(&path.key("name"), arm.name);
            let name = name?;
            check_name(reader, &path.key("name"), &name);
            let description = arm.description.unwrap_or_default();
            Some((path, ArmHead { name, description, control: arm.control.unwrap_or(false) }))
        })
        .collect();
    let heads: Vec<_> = heads.into_iter().collect::<Option<_>>()?;
    check_unique(reader, heads.iter().map(|(path, head)| (path, head.name.as_str())));
    Some(heads)
}

/// Checks that a control is expected to fail.
pub(crate) fn check_control(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    control: bool,
    scenario: &Scenario,
) {
    if control && scenario.expect.verdict != ExpectedVerdict::Metastable {
        reader.problem_with(
            &path.key("control"),
            "a control must fail, but the arm expects something else",
            "expect.verdict = \"metastable\"",
        );
    }
}

const MOST_ARMS: usize = 64;
