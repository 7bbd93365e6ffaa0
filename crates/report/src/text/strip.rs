//! Goodput and throughput over time, a line of text each.

use std::fmt::Write as _;

use goodput_runlog::Window;
use goodput_verdict::Span;

use crate::format;

/// Draws what a run saw on one scale, with the trigger marked below; nothing where there are no
/// windows.
pub(super) fn draw(windows: &[Window], trigger: Option<Span>) -> String {
    let step = windows.len().div_ceil(SIGNS).max(1);
    let goodput = rates(windows, step, |window| Some(window.client.good));
    let throughput = rates(windows, step, |window| window.tiers.last().map(|tier| tier.served));
    let rows = [("goodput", goodput), ("throughput", throughput)];
    let seen = rows.iter().flat_map(|(_, rates)| rates.iter().flatten());
    let top = seen.copied().fold(0.0, f64::max);
    let mut text = String::new();
    for (name, rates) in rows.iter().filter(|(_, rates)| rates.iter().any(Option::is_some)) {
        let signs: String = rates.iter().map(|rate| sign(*rate, top)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<12}{signs}");
    }
    if text.is_empty() {
        return text;
    }
    if let Some(trigger) = trigger {
        let marks: String = (0..windows.len().div_ceil(step))
            .map(|index| {
                let from = (index * step) as f64;
                let touched = trigger.from < from + step as f64 && from < trigger.to;
                if touched { '━' } else { ' ' }
            })
            .collect();
        let _ = writeln!(text, "  {:<12}{}", "trigger", marks.trim_end());
    }
    let _ = writeln!(text, "  {:<12}0 to {}/s, a sign is {step} s", "", format::number(top));
    text
}

/// The rates of each `step` windows; none where nothing was seen.
fn rates(windows: &[Window], step: usize, of: impl Fn(&Window) -> Option<u64>) -> Vec<Option<f64>> {
    let rate = |part: &[Window]| {
        let seen: Vec<u64> = part.iter().filter_map(&of).collect();
        (!seen.is_empty()).then(|| seen.iter().sum::<u64>() as f64 / seen.len() as f64)
    };
    windows.chunks(step).map(rate).collect()
}

fn sign(rate: Option<f64>, top: f64) -> char {
    match rate {
        None => ' ',
        Some(rate) if rate <= 0.0 || top <= 0.0 => '·',
        Some(rate) => {
            let level = (rate / top * BLOCKS.len() as f64).ceil() as usize;
            BLOCKS[level.clamp(1, BLOCKS.len()) - 1]
        }
    }
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The most signs of a line.
const SIGNS: usize = 60;

#[cfg(test)]
mod tests {
    use goodput_runlog::{ClientWindow, TierWindow};

    use super::*;

    fn window(second: u64, good: u64, served: Option<u64>) -> Window {
        let tier = |served| TierWindow { served, ..TierWindow::default() };
        Window {
            second,
            client: ClientWindow { good, ..ClientWindow::default() },
            tiers: served.map(tier).into_iter().collect(),
        }
    }

    #[test]
    fn both_lines_stand_on_one_scale_with_the_trigger_below() {
        let windows: Vec<_> = (0..120)
            .map(|second| match second {
                0..60 => window(second, 80, Some(80)),
                60..80 => window(second, 40, Some(40)),
                _ => window(second, 0, Some(100)),
            })
            .collect();
        let text = draw(&windows, Some(Span { from: 60.0, to: 80.0 }));
        let goodput = ["▇".repeat(30), "▄".repeat(10), "·".repeat(20)].concat();
        let throughput = ["▇".repeat(30), "▄".repeat(10), "█".repeat(20)].concat();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("  goodput     {goodput}"));
        assert_eq!(lines[1], format!("  throughput  {throughput}"));
        assert_eq!(lines[2], format!("  trigger     {}{}", " ".repeat(30), "━".repeat(10)));
        assert_eq!(lines[3], "              0 to 100/s, a sign is 2 s");
    }

    #[test]
    fn without_a_view_of_the_server_goodput_stands_alone() {
        let text = draw(&[window(0, 5, None), window(1, 0, None)], None);
        assert_eq!(text.lines().next(), Some("  goodput     █·"));
        assert_eq!(text.lines().count(), 2);
        assert_eq!(draw(&[], None), "");
    }
}
