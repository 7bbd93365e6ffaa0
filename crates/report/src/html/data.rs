//! The figures behind the charts, for the read-outs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::chart::Chart;

/// The figures of every run on a page.
#[derive(Debug, Default)]
pub(super) struct Data(Vec<Run>);

#[derive(Debug, Serialize)]
struct Run {
    points: usize,
    step: f64,
    series: BTreeMap<String, Vec<Option<Figure>>>,
}

impl Data {
    /// Takes the figures of a chart.
    pub(super) fn add(&mut self, chart: &Chart<'_>) {
        let timeline = chart.timeline;
        while self.0.len() <= timeline.run {
            self.0.push(Run { points: 0, step: 1.0, series: BTreeMap::new() });
        }
        let run = &mut self.0[timeline.run];
        run.points = timeline.points;
        run.step = timeline.step;
        for series in &chart.series {
            run.series
                .entry(series.key.clone())
                .or_insert_with(|| series.values.iter().map(|value| Figure::new(*value)).collect());
        }
    }

    /// The figures as JSON that can stand inside a `script` element.
    pub(super) fn to_script(&self) -> String {
        let json = serde_json::to_string(&self.0).unwrap_or_else(|_| "[]".to_owned());
        // Nothing in it may end the element or open a comment.
        json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
    }
}

/// A figure with four significant digits, as short as JSON allows.
#[derive(Debug)]
struct Figure(f64);

impl Figure {
    fn new(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let rounded = format!("{value:.3e}").parse().unwrap_or(value);
        Some(Self(rounded))
    }
}

impl Serialize for Figure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_gaps_are_null() {
        let figures = [80.0, 0.123_456, f64::NAN].map(Figure::new);
        assert_eq!(serde_json::to_string(&figures).unwrap(), "[80,0.1235,null]");
    }

    #[test]
    fn no_text_ends_the_script() {
        let mut series = BTreeMap::new();
        series.insert("</script><!--".to_owned(), Vec::new());
        let data = Data(vec![Run { points: 0, step: 1.0, series }]);
        assert!(!data.to_script().contains('<'));
        assert!(serde_json::from_str::<serde_json::Value>(&data.to_script()).is_ok());
    }
}
