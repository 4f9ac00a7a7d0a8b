//! Checks that all catalogues have the same messages and variables, that no message is missing and that none is unused.

use std::collections::{BTreeMap, BTreeSet};

use fluent_syntax::{
    ast::{Entry, Expression, InlineExpression, Pattern, PatternElement},
    parser::{self, ParserError},
};

/// Messages, each with its variables.
pub type Messages = BTreeMap<String, BTreeSet<String>>;

/// Functions whose first argument is a key.
const CALLS: &[&str] = &[".t(", ".t1(", ".t2(", ".count(", ".say("];
/// Keys that code picks from a table or a `match` and passes on later: every literal with such a beginning or end is a
/// key.
const FAMILIES: &[&str] = &["consent-", "denied-", "done-", "event-", "problem-", "way-", "wrong-"];
const KINDS: &[&str] = &["-at", "-text", "-title"];

/// The messages of a catalogue, and its syntax errors.
pub fn messages(text: &str) -> (Messages, Vec<String>) {
    let (resource, mut wrong) = match parser::parse(text) {
        Ok(resource) => (resource, Vec::new()),
        Err((resource, errors)) => {
            // The start of the unreadable message.
            let begin = |error: &ParserError| error.slice.as_ref().unwrap_or(&error.pos).start;
            let line = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
            let wrong = errors.iter().map(|error| format!("line {}: {error}", line(begin(error))));
            (resource, wrong.collect())
        }
    };
    let mut messages = Messages::new();
    for entry in &resource.body {
        let Entry::Message(message) = entry else { continue };
        let mut variables = BTreeSet::new();
        if let Some(value) = &message.value {
            in_pattern(value, &mut variables);
        }
        if messages.insert(message.id.name.to_owned(), variables).is_some() {
            wrong.push(format!("the message {} is there twice", message.id.name));
        }
    }
    (messages, wrong)
}

fn in_pattern(pattern: &Pattern<&str>, variables: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        if let PatternElement::Placeable { expression } = element {
            in_expression(expression, variables);
        }
    }
}

fn in_expression(expression: &Expression<&str>, variables: &mut BTreeSet<String>) {
    match expression {
        Expression::Inline(inline) => in_inline(inline, variables),
        Expression::Select { selector, variants } => {
            in_inline(selector, variables);
            for variant in variants {
                in_pattern(&variant.value, variables);
            }
        }
    }
}

fn in_inline(inline: &InlineExpression<&str>, variables: &mut BTreeSet<String>) {
    match inline {
        InlineExpression::VariableReference { id } => {
            variables.insert(id.name.to_owned());
        }
        InlineExpression::Placeable { expression } => in_expression(expression, variables),
        InlineExpression::FunctionReference { arguments, .. } => {
            for argument in &arguments.positional {
                in_inline(argument, variables);
            }
        }
        InlineExpression::StringLiteral { .. }
        | InlineExpression::NumberLiteral { .. }
        | InlineExpression::MessageReference { .. }
        | InlineExpression::TermReference { .. } => {}
    }
}

/// One sentence for each mistake in `catalogues` (language, file, text), given the texts of `users` (file, text).
pub fn check(catalogues: &[(&str, &str, String)], users: &[(String, String)]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut read = Vec::new();
    let mut wanted: BTreeMap<String, String> = BTreeMap::new();
    for (file, text) in users {
        for (key, line) in asked(file, text) {
            wanted.entry(key.to_owned()).or_insert_with(|| format!("{file}:{line} asks for it"));
        }
    }
    for (language, file, text) in catalogues {
        let (messages, wrong) = messages(text);
        findings.extend(wrong.into_iter().map(|wrong| format!("{file} ({language}): {wrong}")));
        for key in messages.keys() {
            wanted.entry(key.clone()).or_insert_with(|| format!("{file} has it"));
            if !users.iter().any(|(_, text)| text.contains(&format!("\"{key}\""))) {
                findings.push(format!("{file} ({language}): nobody uses the message {key}; remove it"));
            }
        }
        read.push((language, file, messages));
    }
    for (language, file, messages) in &read {
        for (key, reason) in wanted.iter().filter(|(key, _)| !messages.contains_key(*key)) {
            findings.push(format!("{file} ({language}): there is no message {key}, and {reason}"));
        }
    }
    if let Some(((_, first, messages), others)) = read.split_first() {
        for (language, file, other) in others {
            let differ = |(key, variables): &(&String, &BTreeSet<String>)| {
                messages.get(*key).is_some_and(|expected| expected != *variables)
            };
            findings.extend(other.iter().filter(differ).map(|(key, _)| {
                format!("{file} ({language}): the message {key} has other variables than in {first}")
            }));
        }
    }
    findings
}

/// Keys that are literals in a call or belong to a family, with their lines.
fn asked<'a>(file: &str, text: &'a str) -> Vec<(&'a str, usize)> {
    let pieces: Vec<&str> = text.split('"').collect();
    let mut asked = Vec::new();
    let mut line = 1;
    for pair in pieces.windows(2) {
        let [before, literal] = pair else { continue };
        line += before.matches('\n').count();
        let called = CALLS.iter().any(|call| before.trim_end().ends_with(call));
        if called || (file.rsplit('.').next() == Some("rs") && is_of_a_family(literal)) {
            asked.push((*literal, line));
        }
    }
    asked
}

fn is_of_a_family(literal: &str) -> bool {
    let is_key =
        literal.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let has = |part: &str| literal.len() > part.len();
    is_key
        && (FAMILIES.iter().any(|family| has(family) && literal.starts_with(family))
            || KINDS.iter().any(|kind| has(kind) && literal.ends_with(kind)))
}
