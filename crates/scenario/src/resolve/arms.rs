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

/// Reads the heads of all arms; none for an arm without a name.
pub(crate) fn arm_heads(reader: &mut Reader<'_, '_>, list: &Path) -> Vec<(Path, Option<ArmHead>)> {
    let written = reader.list::<written::Arm>(list, &["expect", "set"]);
    let count = written.len();
    if count > MOST_ARMS {
        reader.problem(list, format!("there are {count} arms, but at most {MOST_ARMS} can be"));
        return Vec::new();
    }
    let heads: Vec<_> = written
        .into_iter()
        .map(|(path, arm)| {
            let head = resolve_head(reader, &path, arm);
            (path, head)
        })
        .collect();
    let named = heads.iter().filter_map(|(path, head)| Some((path, head.as_ref()?.name.as_str())));
    check_unique(reader, named);
    heads
}

fn resolve_head(reader: &mut Reader<'_, '_>, path: &Path, arm: written::Arm) -> Option<ArmHead> {
    let name = reader.require(&path.key("name"), arm.name)?;
    check_name(reader, &path.key("name"), &name);
    let description = arm.description.unwrap_or_default();
    Some(ArmHead { name, description, control: arm.control.unwrap_or(false) })
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
