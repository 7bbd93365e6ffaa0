//! What a scenario's lengths mean for its verdict, before it is run.

use goodput_scenario::Scenario;

use crate::frame::{WARM_UP, block};
use crate::limits::{BACK_BLOCKS, SETTLED_BLOCKS};
use crate::load::OfferedLoad;
use crate::words::duration;

/// What is to be said of a scenario's lengths before it is run: blocks that are longer than `hold`, and why
/// its verdict would be inconclusive; empty where there is nothing to say. Not an error: a person may pull
/// levers, and lengths are a matter of taste until a run is judged.
pub fn lengths(scenario: &Scenario) -> Vec<String> {
    let load = OfferedLoad::planned(scenario);
    let hold = scenario.expect.hold.as_secs_f64().ceil().max(1.0) as u64;
    let block = block(hold, load, scenario);
    let mut notes = Vec::new();
    if block > hold {
        notes.push(format!(
            "at {:.1} requests a second goodput is judged over blocks of {}, longer than `hold` ({})",
            load.before.min(load.end),
            duration(block as f64),
            duration(hold as f64)
        ));
    }
    let seconds = scenario.duration.as_secs_f64();
    let span = scenario.trigger_span();
    if let Some((start, _)) = span {
        let calm = start.as_secs_f64() - 1.0;
        if calm + 1.0 < block as f64 {
            notes.push(format!(
                "there are {calm:.0} s for a baseline, and a block of {block} s is needed: the verdict would be \
                 inconclusive; let the trigger begin at {} s or later",
                block + WARM_UP + 1
            ));
        }
    }
    let over = span.map_or(WARM_UP as f64 + block as f64, |(_, end)| end.as_secs_f64());
    let tail = (seconds - over).max(0.0);
    let (number, word) =
        if span.is_some() { (SETTLED_BLOCKS, "three") } else { (BACK_BLOCKS, "two") };
    let blocks = (number * block) as f64;
    let life = scenario.life().as_secs_f64();
    let (needed, why) = if span.is_some() && life > blocks {
        (life, format!("a request may live {}", duration(life)))
    } else {
        (blocks, format!("{word} blocks of {block} s are needed"))
    };
    if tail + 1.0 < needed {
        let after = if span.is_some() { "the trigger" } else { "the baseline" };
        notes.push(format!(
            "{tail:.0} s are left after {after}, and {why}: the verdict would be inconclusive; let the run last \
             {:.0} s or longer",
            (over + needed).ceil()
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use goodput_scenario::Plan;

    use super::*;

    fn notes(rate: f64, duration: u64, client: &str) -> Vec<String> {
        let text = format!(
            "name = \"x\"\nduration = \"{duration}s\"\n[load]\nrate = {rate}\n{client}\n\
             [[tier]]\nname = \"a\"\ncapacity = 100\n\
             [[fault]]\nkind = \"stall\"\nat = \"30s\"\nfor = \"10s\"\n"
        );
        lengths(&Plan::parse("x.toml", &text).unwrap().scenario)
    }

    const PATIENT: &str = "[[client.layer]]\ntimeout = \"5s\"\nretries = 3\n";

    #[test]
    fn a_scenario_that_is_long_enough_has_nothing_said_of_it() {
        assert_eq!(notes(80.0, 160, PATIENT), Vec::<String>::new());
    }

    #[test]
    fn few_requests_make_long_blocks_and_short_spans() {
        let [blocks, baseline, tail] = notes(2.0, 160, PATIENT).try_into().unwrap();
        assert!(blocks.contains("blocks of 50 s, longer than `hold` (10 s)"), "{blocks}");
        assert!(baseline.contains("let the trigger begin at 56 s"), "{baseline}");
        assert!(tail.contains("let the run last 190 s"), "{tail}");
    }

    #[test]
    fn a_request_that_outlives_the_tail_is_told() {
        let layers =
            format!("[[client.layer]]\nretries = 3\nbackoff = {{ base = \"0s\" }}\n{PATIENT}");
        let found = notes(80.0, 120, &layers);
        assert!(found[0].contains("a request may live 108 s"), "{found:?}");
    }
}
