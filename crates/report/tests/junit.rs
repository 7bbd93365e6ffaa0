//! `junit.xml` is what continuous integration reads: its shape is that of the schema that Jenkins uses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::collections::BTreeMap;

use goodput_experiment::compare_judged;
use goodput_report::Report;
use goodput_runlog::EngineKind;
use goodput_verdict::{Cause, Doubt, DoubtKind, Judgement, Verdict};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// An element with what is in it.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn of(start: &BytesStart<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let value = text(&attribute.value);
            (
                text(attribute.key.as_ref()),
                quick_xml::escape::unescape(&value).unwrap().into_owned(),
            )
        });
        Self {
            name: text(start.name().as_ref()),
            attributes: attributes.collect(),
            ..Self::default()
        }
    }

    fn parse(xml: &str) -> Self {
        let mut reader = Reader::from_str(xml);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) => open.push(Self::of(&start)),
                Event::Empty(start) => open.last_mut().unwrap().children.push(Self::of(&start)),
                Event::End(_) => {
                    let ended = open.pop().unwrap();
                    open.last_mut().unwrap().children.push(ended);
                }
                Event::Text(text) => open.last_mut().unwrap().text += &text.decode().unwrap(),
                Event::Eof => break,
                Event::Decl(_)
                | Event::Comment(_)
                | Event::CData(_)
                | Event::PI(_)
                | Event::DocType(_)
                | Event::GeneralRef(_) => {}
            }
        }
        open.pop().unwrap().children.pop().unwrap()
    }

    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    fn count(&self, name: &str) -> usize {
        self.children.iter().map(|child| child.count(name)).sum::<usize>()
            + usize::from(self.name == name)
    }

    fn number(&self, attribute: &str) -> f64 {
        self.attributes[attribute].parse().unwrap()
    }
}

/// What the schema allows in an element: the attributes that it must have, those that it may have, and
/// the elements in it.
type Rule = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// The elements of the JUnit schema that Jenkins reads by.
fn rule(element: &str) -> Rule {
    match element {
        "testsuites" => {
            // `skipped` stands in newer forms of the schema alone; older readers pass over it.
            let counts = &["name", "time", "tests", "failures", "disabled", "errors", "skipped"];
            (&[], counts, &["testsuite"])
        }
        "testsuite" => (
            &["name", "tests"],
            &[
                "failures",
                "errors",
                "time",
                "disabled",
                "skipped",
                "timestamp",
                "hostname",
                "id",
                "package",
            ],
            &["properties", "testcase", "system-out", "system-err"],
        ),
        "properties" => (&[], &[], &["property"]),
        "property" => (&["name", "value"], &[], &[]),
        "testcase" => (
            &["name", "classname"],
            &["assertions", "time", "status"],
            &["skipped", "error", "failure", "system-out", "system-err"],
        ),
        "error" | "failure" | "skipped" => (&[], &["message", "type"], &[]),
        other => panic!("no element of the schema: {other}"),
    }
}

fn check(element: &Element) {
    let (required, optional, inner) = rule(&element.name);
    for name in required {
        assert!(element.attributes.contains_key(*name), "{} lacks {name}", element.name);
    }
    for (name, value) in &element.attributes {
        let known = required.contains(&name.as_str()) || optional.contains(&name.as_str());
        assert!(known, "{name} of {}", element.name);
        match name.as_str() {
            "tests" | "failures" | "errors" | "disabled" | "skipped" => {
                assert!(value.parse::<u64>().is_ok(), "{name} = {value}");
            }
            "time" => assert!(value.parse::<f64>().is_ok_and(|seconds| seconds >= 0.0), "{value}"),
            "timestamp" => assert!(value.starts_with("20") && value.contains('T'), "{value}"),
            _ => {}
        }
    }
    for child in &element.children {
        assert!(inner.contains(&child.name.as_str()), "{} in {}", child.name, element.name);
        check(child);
    }
    if element.name == "testsuite" {
        let count = |inner| element.named("testcase").filter(|case| case.count(inner) > 0).count();
        for (attribute, counted) in [
            ("tests", element.named("testcase").count()),
            ("failures", count("failure")),
            ("errors", count("error")),
        ] {
            assert_eq!(element.attributes[attribute], counted.to_string(), "{attribute}");
        }
    }
}

/// A comparison with a run of each kind of outcome.
fn written() -> Element {
    let compared = support::compared();
    let mut judgements: Vec<_> =
        compared.comparison.rows.iter().map(|row| row.judgement.clone()).collect();
    let outcomes = [("200", 4_812), ("429", 12), ("502 upstream-refused", 88)];
    judgements[1] = Judgement {
        verdict: Verdict::NotRecovered,
        cause: Some(Cause::Overloaded),
        summary: "more is offered than can be served".to_owned(),
        notes: vec!["the load is not as before".to_owned()],
        outcomes: outcomes.map(|(name, count)| (name.to_owned(), count)).into_iter().collect(),
        ..judgements[1].clone()
    };
    let doubts = vec![Doubt { kind: DoubtKind::ForeignLoad, text: "78/s <more>".to_owned() }];
    judgements[2] = Judgement { verdict: Verdict::Inconclusive, doubts, ..judgements[2].clone() };
    let comparison = compare_judged(&compared.finished, judgements);
    let report = Report::comparison(&comparison, &compared.finished, support::COMPARE);
    Element::parse(&report.to_junit().unwrap())
}

#[test]
fn a_comparison_has_the_shape_that_jenkins_reads() {
    let root = written();
    check(&root);
    assert_eq!(root.name, "testsuites");
    assert!(root.count("failure") > 0 && root.count("error") > 0 && root.count("skipped") > 0);
}

#[test]
fn a_failure_says_what_was_found_and_how_attempts_ended() {
    let root = written();
    let suite = &root.children[1];
    let failed = suite.named("testcase").find(|case| case.count("failure") > 0).unwrap();
    let failure = failed.named("failure").next().unwrap();
    for part in [
        "not-recovered: overloaded: more is offered than can be served",
        "the load is not as before",
        "attempts ended: 200 × 4,812 · 502 upstream-refused × 88 · 429 × 12",
        "repeat it: goodput run database-failover",
    ] {
        assert!(failure.text.contains(part), "no `{part}` in {}", failure.text);
    }
}

#[test]
fn a_run_on_the_rig_has_its_time_and_its_start_once() {
    let (scenario, mut log) = support::naive();
    (log.meta.engine, log.meta.speed) = (EngineKind::Rig, 10.0);
    let judgement = Judgement::default();
    let root = Element::parse(&Report::run(&scenario, &log, &judgement).to_junit().unwrap());
    check(&root);
    let suite = &root.children[0];
    let seconds = log.windows.len() as f64 / 10.0;
    assert_eq!((root.number("time"), suite.number("time")), (seconds, seconds));
    let cases: f64 = suite.named("testcase").map(|case| case.number("time")).sum();
    assert_eq!(cases.to_bits(), seconds.to_bits(), "the cases add up to the suite");
    assert!(suite.attributes["timestamp"].starts_with("2026-11-30T09:15:02"), "{suite:?}");
}

#[test]
fn a_run_in_virtual_time_took_none_and_has_no_start() {
    let (scenario, mut log) = support::naive();
    log.meta.started = String::new();
    let judgement = Judgement::default();
    let root = Element::parse(&Report::run(&scenario, &log, &judgement).to_junit().unwrap());
    check(&root);
    let suite = &root.children[0];
    assert_eq!(suite.number("time").to_bits(), 0.0_f64.to_bits());
    assert!(!suite.attributes.contains_key("timestamp"));
}

#[test]
fn what_was_not_seen_is_skipped() {
    let (scenario, mut log) = support::naive();
    log.windows.iter_mut().for_each(|window| window.tiers.clear());
    let judgement = Judgement { verdict: Verdict::Metastable, ..Judgement::default() };
    let root = Element::parse(&Report::run(&scenario, &log, &judgement).to_junit().unwrap());
    let case = |name: &str| {
        let mut cases = root.children[0].named("testcase");
        cases.find(|case| case.attributes["name"] == name).unwrap()
    };
    for name in ["server-kept-running", "load-reconciled", "nobody-else"] {
        let skipped = case(name).named("skipped").next().unwrap();
        assert!(skipped.attributes["message"].contains("no view"), "{skipped:?}");
    }
    assert_eq!(case("run-completed").children.len(), 0);
}
