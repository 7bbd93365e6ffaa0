//! `goodput lesson`: the teaching models, each with its picture.

use clap::Args;
use goodput_lesson::Lesson;

use crate::exit::{Exit, Failure};
use crate::{help, output};

/// Arguments of `goodput lesson`.
#[derive(Args, Debug)]
#[command(after_help = help::LESSON)]
pub(crate) struct LessonArgs {
    /// Which lesson; without it, what there is
    #[arg(value_name = "NUMBER", value_parser = lesson)]
    lesson: Option<Lesson>,
}

/// Prints a lesson, or the list of them.
pub(crate) fn run(args: &LessonArgs) -> Result<Exit, Failure> {
    let text = match &args.lesson {
        Some(lesson) => format!("{}. {}\n\n{}", lesson.number, lesson.title, lesson.text),
        None => list(),
    };
    output::result(&text)?;
    Ok(Exit::Held)
}

fn list() -> String {
    let titles = Lesson::TITLES.iter().enumerate();
    let lines = titles.map(|(index, title)| format!("goodput lesson {}    {title}\n", index + 1));
    lines.collect()
}

fn lesson(text: &str) -> Result<Lesson, String> {
    let number = text.trim().parse().ok();
    number.and_then(Lesson::of).ok_or_else(|| {
        format!(
            "`{text}` is no lesson; write a number from 1 to {}, such as 1",
            Lesson::TITLES.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lessons_are_named_by_their_number() {
        assert_eq!(lesson("3").unwrap().number, 3);
        for text in ["0", "6", "-1", "one", ""] {
            assert!(lesson(text).unwrap_err().contains("from 1 to 5, such as 1"), "{text}");
        }
    }

    #[test]
    fn the_list_shows_the_command_of_each() {
        assert_eq!(list().lines().count(), Lesson::TITLES.len());
        assert!(list().contains("goodput lesson 5    Stable"), "{}", list());
    }
}
