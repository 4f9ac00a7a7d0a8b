//! `porteiro admin`: the management API on the command line. Every operation of the route table is a command; there is
//! no second list.

use std::{io::Read, path::Path, time::Duration};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use porteiro_protocol::picture::Picture;
use porteiro_service::{
    api::{Operation, Taken, openapi},
    http::Route,
    settings::Settings,
};
use serde_json::{Map, Value};

use crate::{cli::Admin, exit::Failure, say};

const KEY_VARIABLE: &str = "PORTEIRO_API_KEY";
const TIMEOUT: Duration = Duration::from_secs(30);

/// The request of a command line.
#[derive(Debug, PartialEq)]
struct Call {
    path: String,
    query: Vec<(String, String)>,
    members: Map<String, Value>,
}

pub async fn run(settings: &Settings, arguments: Admin) -> Result<(), Failure> {
    let table = porteiro_service::table();
    let document = openapi::document(&table);
    let Some(wanted) = &arguments.operation else {
        for line in
            table.iter().filter_map(|route| Some(described(route, route.operation.as_ref()?, &document)))
        {
            say::out(&line);
        }
        return Ok(());
    };
    let found = table.iter().find_map(|route| {
        let operation = route.operation.as_ref()?;
        (operation.id == wanted).then_some((route, operation))
    });
    let Some((route, operation)) = found else {
        return Err(Failure::new(format!(
            "unknown operation {wanted}; list all operations with: porteiro admin"
        )));
    };
    let call = read(route, operation, &document, &arguments.values).map_err(Failure::new)?;
    let json = |value: Value| ("application/json", value.to_string().into_bytes());
    let body = match (&arguments.body, operation.takes) {
        (Some(_), _) if !call.members.is_empty() => {
            return Err(Failure::new("give the body either with --body or as name=value"));
        }
        (Some(file), Taken::Media(_)) => Some(picture(file)?),
        (None, Taken::Media(_)) => return Err(Failure::new("give the file with --body")),
        (Some(file), _) => Some(json(whole(file)?)),
        (None, _) if takes_body(route, &document) => Some(json(Value::Object(call.members.clone()))),
        (None, _) => None,
    };
    let key = key(arguments.key_file.as_deref())?;
    let url = address(settings, arguments.url.as_deref(), &call)?;
    let mut request = client()?.request(route.method.clone(), url).bearer_auth(key);
    for (name, value) in [
        ("if-match", &arguments.if_match),
        ("porteiro-reason", &arguments.reason),
        ("idempotency-key", &arguments.idempotency_key),
    ] {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    if let Some((kind, body)) = body {
        request = request.header("content-type", kind).body(body);
    }
    let unreachable =
        |error: reqwest::Error| Failure::unavailable(format!("the service does not respond: {error}"));
    let answer = request.send().await.map_err(unreachable)?;
    let status = answer.status();
    if let Some(tag) = answer.headers().get("etag").and_then(|tag| tag.to_str().ok()) {
        say::err(&format!("ETag: {tag}"));
    }
    let text = answer.text().await.map_err(unreachable)?;
    let told: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    if told.is_null() {
        if !text.is_empty() {
            say::out(&text);
        }
    } else {
        say::out(&serde_json::to_string_pretty(&told).unwrap_or_default());
    }
    if status.is_success() {
        return Ok(());
    }
    let word = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    Err(Failure::new(
        format!("{} {} {}", status.as_u16(), word("code"), word("detail")).trim_end().to_owned(),
    ))
}

/// One line: the name, the required and optional arguments, and the summary.
fn described(route: &Route, operation: &Operation, document: &Value) -> String {
    let mut words = vec![operation.id.to_owned()];
    words.extend(places(route.path).map(|name| format!("<{name}>")));
    words.extend(operation.query.iter().map(|parameter| format!("[{}=…]", parameter.name)));
    let members = members(route, document);
    words.extend(members.iter().flat_map(Map::keys).map(|name| format!("[{name}=…]")));
    format!("{}\n    {}", words.join(" "), operation.summary)
}

fn places(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn takes_body(route: &Route, document: &Value) -> bool {
    described_route(route, document)["requestBody"].is_object()
}

fn described_route<'a>(route: &Route, document: &'a Value) -> &'a Value {
    &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()]
}

/// The members a body may have, by their schema.
fn members(route: &Route, document: &Value) -> Option<Map<String, Value>> {
    let schema = &described_route(route, document)["requestBody"]["content"]["application/json"]["schema"];
    resolved(schema, document)["properties"].as_object().cloned()
}

fn resolved<'a>(schema: &'a Value, document: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

/// Whether the schema expects a string; everything else is JSON.
fn is_text(schema: &Value, document: &Value) -> bool {
    let schema = resolved(schema, document);
    let named =
        |kind: &Value| kind == "string" || kind.as_array().is_some_and(|all| all.contains(&"string".into()));
    let any = ["anyOf", "oneOf"].iter().filter_map(|name| schema[*name].as_array()).flatten();
    named(&schema["type"]) || schema["const"].is_string() || any.into_iter().any(|one| is_text(one, document))
}

fn read(route: &Route, operation: &Operation, document: &Value, words: &[String]) -> Result<Call, String> {
    let mut words = words.iter();
    let mut path = route.path.to_owned();
    for place in places(route.path) {
        let value = words.next().ok_or_else(|| format!("{} requires <{place}>", operation.id))?;
        let encoded: String = url_encoded(value);
        path = path.replace(&format!("{{{place}}}"), &encoded);
    }
    let known = members(route, document).unwrap_or_default();
    let mut call = Call { path, query: Vec::new(), members: Map::new() };
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("{word} is not name=value; quote values with spaces"))?;
        let paging = operation.is_list() && (name == "limit" || name == "cursor");
        if paging || operation.query.iter().any(|parameter| parameter.name == name) {
            call.query.push((name.to_owned(), value.to_owned()));
        } else if let Some(schema) = known.get(name) {
            let parsed = serde_json::from_str::<Value>(value);
            let value = match parsed {
                Ok(Value::Null) => Value::Null,
                _ if is_text(schema, document) => value.into(),
                Ok(parsed) => parsed,
                Err(_) => return Err(format!("{name} is not JSON")),
            };
            call.members.insert(name.to_owned(), value);
        } else {
            return Err(format!(
                "{} does not take {name}; list its parameters with: porteiro admin",
                operation.id
            ));
        }
    }
    Ok(call)
}

/// A path segment, percent-encoded but for RFC 3986's unreserved characters.
fn url_encoded(text: &str) -> String {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}

fn wrong(file: &Path, reason: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {reason}", file.display()))
}

fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).map_err(|error| wrong(file, &error))?;
    } else {
        bytes = std::fs::read(file).map_err(|error| wrong(file, &error))?;
    }
    Ok(bytes)
}

fn whole(file: &Path) -> Result<Value, Failure> {
    serde_json::from_slice(&bytes(file)?).map_err(|error| wrong(file, &error))
}

/// The media type, from the file's contents and not its name.
fn picture(file: &Path) -> Result<(&'static str, Vec<u8>), Failure> {
    let bytes = bytes(file)?;
    let picture = Picture::parse(&bytes).map_err(|error| wrong(file, &error))?;
    Ok((picture.format.media_type(), bytes))
}

/// Never an argument: arguments are visible in the list of processes.
fn key(file: Option<&Path>) -> Result<String, Failure> {
    let text = match file {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| Failure::new(format!("{}: {error}", file.display())))?,
        None => std::env::var_os(KEY_VARIABLE)
            .and_then(|value| value.into_string().ok())
            .ok_or_else(|| Failure::new(format!("set {KEY_VARIABLE}, or give a file with --key-file")))?,
    };
    Ok(text.trim().to_owned())
}

fn address(settings: &Settings, given: Option<&str>, call: &Call) -> Result<String, Failure> {
    let base = match given {
        Some(url) => url,
        None if !settings.base_url.is_empty() => &settings.base_url,
        None => return Err(Failure::new("give the address of the service with --url, or set base_url")),
    };
    let query: Vec<String> =
        call.query.iter().map(|(name, value)| format!("{name}={}", url_encoded(value))).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    Ok(format!("{}{}{mark}{}", base.trim_end_matches('/'), call.path, query.join("&")))
}

#[expect(clippy::disallowed_methods, reason = "the address is the operator's own, on their own command line")]
fn client() -> Result<reqwest::Client, Failure> {
    reqwest::Client::builder()
        .user_agent("porteiro admin")
        .timeout(TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| Failure::new(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(id: &str, words: &[&str]) -> Result<Call, String> {
        let table = porteiro_service::table();
        let document = openapi::document(&table);
        let route = table
            .iter()
            .find(|route| route.operation.as_ref().is_some_and(|operation| operation.id == id))
            .unwrap();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read(route, route.operation.as_ref().unwrap(), &document, &words)
    }

    #[test]
    fn words_become_path_query_and_body_as_the_operation_says() {
        let call = said("organizations.update", &["a/b", "name=17", "locale=pt-BR"]).unwrap();
        assert_eq!(call.path, "/v1/organizations/a%2Fb");
        assert_eq!(call.members, *json!({"name": "17", "locale": "pt-BR"}).as_object().unwrap());
        let call = said("policy.update", &["x", "dry_run=true", "max_age=60", "min_level=aal2"]).unwrap();
        assert_eq!(call.query, [("dry_run".to_owned(), "true".to_owned())]);
        assert_eq!(call.members, *json!({"max_age": 60, "min_level": "aal2"}).as_object().unwrap());
        let call = said("policy.update", &["x", "max_age=null"]).unwrap();
        assert_eq!(call.members["max_age"], Value::Null);
        let call = said("platform_organizations.list", &["limit=3", "q=a b"]).unwrap();
        assert_eq!(call.query.len(), 2);
    }

    #[test]
    fn what_an_operation_does_not_take_is_refused_here_already() {
        for (id, words, part) in [
            ("organizations.get", &[][..], "requires <organization>"),
            ("organizations.get", &["x", "colour=red"], "does not take colour"),
            ("organizations.get", &["x", "red"], "is not name=value"),
            ("policy.update", &["x", "max_age=soon"], "is not JSON"),
        ] {
            let error = said(id, words).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
