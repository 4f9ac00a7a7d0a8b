//! `docs/routes.md` is generated from the route table, the authorization table of the tests names every route, and
//! `docs/openapi.json` describes every route of the product's own API.

use std::{fmt::Write, path::Path};

use crate::{
    Finding,
    files::{self, is_rust},
    source::Source,
};

const AUTHORIZATION_TABLE: &str = "tests/src/authorization_table.rs";
const NAME: &str = "authorization_table";
const OPENAPI: &str = "docs/openapi.json";
/// The prefix of the product's own API; the other routes are described by their standards.
const OWN_API: &str = "/v1/";

/// One route of the table.
#[derive(Debug, Clone)]
pub struct Row {
    pub method: String,
    pub path: String,
    pub access: String,
    pub standard: Option<&'static str>,
    pub cors: bool,
    /// Whether the OpenAPI document describes it.
    pub documented: bool,
}

pub fn served() -> Vec<Row> {
    let mut rows: Vec<Row> = porteiro_service::table()
        .into_iter()
        .map(|route| Row {
            method: route.method.to_string(),
            path: route.path.to_owned(),
            access: route.access.to_string(),
            standard: route.standard,
            cors: route.cors,
            documented: route.documented().is_some(),
        })
        .collect();
    rows.sort_by(|left, right| (&left.path, &left.method).cmp(&(&right.path, &right.method)));
    rows
}

/// The authorization table is written by hand: it answers "who may call this?" independently.
pub fn check(root: &Path, routes: &[Row]) -> anyhow::Result<Vec<Finding>> {
    let mut literals = Vec::new();
    let mut exists = false;
    for path in files::under(root, "tests/src")?.into_iter().filter(|path| is_rust(path)) {
        let text = files::read(root, &path)?;
        if path == AUTHORIZATION_TABLE || text.contains(NAME) {
            exists = true;
            literals.extend(Source::parse(&text).strings.into_iter().map(|(_, literal)| literal));
        }
    }
    if !exists {
        let what = "is missing; write the tests' table of who may call each route ('METHOD /path')";
        return Ok(vec![Finding::new(AUTHORIZATION_TABLE, 1, what)]);
    }
    let names = routes.iter().map(|route| format!("{} {}", route.method, route.path));
    let missing = names.filter(|name| !literals.iter().any(|literal| holds(literal, name)));
    Ok(missing
        .map(|name| Finding::new(AUTHORIZATION_TABLE, 1, format!("has no \"{name}\"; say who may call it")))
        .collect())
}

/// Routes of the product's own API that the OpenAPI document does not describe.
pub fn undocumented(routes: &[Row]) -> Vec<Finding> {
    let missing = routes.iter().filter(|route| route.path.starts_with(OWN_API) && !route.documented);
    missing
        .map(|Row { method, path, .. }| {
            let what = format!("has no \"{method} {path}\"; give the route an operation or a description");
            Finding::new(OPENAPI, 1, what)
        })
        .collect()
}

/// `GET /a` is not in `GET /a/b`.
fn holds(literal: &str, name: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "/{}_-.:*".contains(c);
    literal
        .match_indices(name)
        .any(|(at, _)| !literal[..at].ends_with(goes_on) && !literal[at + name.len()..].starts_with(goes_on))
}

pub fn document(routes: &[Row]) -> String {
    let mut text = "# Routes\n\n\
        Every route of the service without the hosted screens. Any other path returns 404. *CORS*: \
        scripts of any origin may read the answer.\n\n\
        | Method | Path | Who may call it | Standard | CORS |\n\
        |---|---|---|---|---|\n"
        .to_owned();
    for Row { method, path, access, standard, cors, documented: _ } in routes {
        let standard = standard.unwrap_or("—");
        let cors = if *cors { "yes" } else { "no" };
        let _ =
            writeln!(text, "| {method} | `{path}` | {} | {standard} | {cors} |", access.replace('|', "\\|"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    fn route(method: &str, path: &str) -> Row {
        Row {
            method: method.into(),
            path: path.into(),
            access: "everyone: x".into(),
            standard: None,
            cors: true,
            documented: true,
        }
    }

    fn found(files: &[(&str, &str)], routes: &[Row]) -> Vec<String> {
        check(tree(files).path(), routes).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_route_without_a_line_in_the_tests_is_found() {
        let table = "// \"POST /a\"\nconst T: &[&str] = &[\"GET /a\", \"GET /a/{id}/b\"];";
        let files = [(AUTHORIZATION_TABLE, table)];
        assert_eq!(found(&files, &[route("GET", "/a"), route("GET", "/a/{id}/b")]), [""; 0]);
        for (method, path) in [("POST", "/a"), ("GET", "/a/{id}"), ("GET", "/"), ("ET", "/a")] {
            let found = found(&files, &[route(method, path)]);
            assert_eq!(found.len(), 1, "{method} {path}");
            assert!(found[0].contains(&format!("has no \"{method} {path}\"; say who")));
        }
    }

    #[test]
    fn a_route_of_our_own_api_without_an_operation_is_found() {
        let planted = Row { documented: false, ..route("GET", "/v1/planted") };
        let elsewhere = Row { documented: false, ..route("GET", "/connect/planted") };
        let found = undocumented(&[route("GET", "/v1/a"), planted, elsewhere]);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("docs/openapi.json:1: has no \"GET /v1/planted\""), "{found:?}");
        assert!(undocumented(&served()).is_empty());
    }

    #[test]
    fn the_tests_table_must_exist() {
        let missing = found(&[("tests/src/lib.rs", "mod other;")], &[]);
        assert!(missing[0].starts_with("tests/src/authorization_table.rs:1: is missing"), "{missing:?}");
        assert_eq!(found(&[("tests/src/who.rs", "//! The authorization_table.")], &[]), [""; 0]);
    }

    #[test]
    fn the_document_has_a_row_per_route() {
        let text = document(&[route("GET", "/a")]);
        assert!(text.ends_with("| GET | `/a` | everyone: x | — | yes |\n"), "{text}");
        let served = served();
        assert!(served.iter().any(|row| row.path == "/healthz"));
        assert_eq!(document(&served).matches("\n| ").count(), served.len() + 1);
    }
}
