//! What all operations of the management API have in common, looked at through routes of the test's own.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::response::{IntoResponse, Response};
use http::Method;
use porteiro_protocol::time::{Duration, OffsetDateTime};
use porteiro_service::{
    api::{self, Listing, Operation, Parameter, Patch, Query, Seen},
    http::{Access, Problem, ProblemCode, Route},
};
use porteiro_testkit::{Answer, TestApp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::driver::{call, get, organization, organization_key, platform_key};

const PATH: &str = "/v1/platform/test";
const OTHER: &str = "/v1/platform/other";
const READ: Access = Access::Platform("platform.accounts:read");
const WRITE: Access = Access::Platform("platform.accounts:write");
const COUNT: i64 = 7;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Thing {
    name: String,
    note: Option<String>,
}

fn born(number: i64) -> OffsetDateTime {
    // Two of each moment: the id decides.
    OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap() + Duration::seconds(number / 2)
}

async fn list(listing: Listing) -> Response {
    let rows: Vec<i64> = (0..COUNT)
        .filter(|number| {
            listing.query.get("parity").is_none_or(|parity| (parity == "even") == (number % 2 == 0))
        })
        .filter(|number| {
            listing
                .after
                .as_ref()
                .is_none_or(|(at, id)| (born(*number), number.to_string()) > (*at, id.clone()))
        })
        .take(usize::try_from(listing.rows()).unwrap())
        .collect();
    listing.page(rows, |number| (born(*number), number.to_string()), |number| json!({"id": number}))
}

async fn change(Seen(version): Seen, query: Query, patch: Patch<Thing>) -> Result<Response, Problem> {
    let thing = patch.apply(&Thing { name: "before".into(), note: Some("a note".into()) })?;
    if version != 3 {
        return Err(api::stale());
    }
    Ok(api::one(if query.flag("dry_run") { 3 } else { 4 }, &thing))
}

/// What is made, how slowly, and whether it is a secret, as the body says.
async fn make(made: Arc<AtomicU64>, body: Value) -> Response {
    if let Some(millis) = body["slow"].as_u64() {
        tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
    }
    match body["fail"].as_str() {
        Some("refused") => return Problem::from(ProblemCode::Conflict).into_response(),
        Some("broken") => return Problem::from(ProblemCode::Unavailable).into_response(),
        Some(_) | None => {}
    }
    let id = made.fetch_add(1, Ordering::SeqCst).to_string();
    let location = format!("{OTHER}/{id}");
    if body["secret"] == true {
        return api::created_with_secret(&location, &id, &json!({"id": id, "secret": "s3cret"}));
    }
    api::created(&location, Some(1), &json!({"id": id}))
}

async fn app_with(reads: u32) -> (TestApp, Arc<AtomicU64>) {
    let made = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&made);
    let create = move |axum::Json(body): axum::Json<Value>| make(Arc::clone(&counter), body);
    let parity = Parameter::choice("parity", &["even", "odd"], "Which half.");
    let routes = vec![
        Route::get(PATH, READ, list)
            .operation(Operation::new("test.list", "Things").query(&[parity]).lists::<Thing>()),
        Route::get(OTHER, READ, list)
            .operation(Operation::new("other.list", "Things").query(&[parity]).lists::<Thing>()),
        Route::patch(PATH, WRITE, change).operation(
            Operation::new("test.change", "A thing")
                .query(&[Parameter::flag("dry_run", "Only looks.")])
                .patches::<Thing>()
                .gives::<Thing>()
                .versioned(),
        ),
        Route::post(PATH, WRITE, create)
            .operation(Operation::new("test.create", "A thing").takes::<Thing>().creates::<Thing>()),
        Route::get("/v1/organizations/{organization}/test", Access::Organization("members:read"), list)
            .operation(Operation::new("organization_test.list", "Things").lists::<Thing>()),
    ];
    let builder =
        TestApp::builder().routes(routes).settings(|settings| settings.api_reads_per_minute = reads);
    (builder.start().await, made)
}

async fn app() -> (TestApp, Arc<AtomicU64>) {
    app_with(600).await
}

async fn key(app: &TestApp) -> String {
    platform_key(app, &["platform.accounts:*"]).await
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

fn ids(answer: &Answer) -> Vec<i64> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_list_is_walked_to_its_end_by_cursor_and_by_link() {
    let (app, _) = app().await;
    let key = key(&app).await;
    let (mut seen, mut path) = (Vec::new(), format!("{PATH}?limit=3"));
    let mut pages = 0;
    loop {
        let page = get(&app, &path, &key).await;
        seen.extend(ids(&page));
        pages += 1;
        let Some(cursor) = page.json()["next_cursor"].as_str().map(str::to_owned) else {
            assert_eq!(page.header("link"), "", "the last page leads nowhere");
            break;
        };
        let link = page.header("link");
        assert_eq!(link, format!("<https://id.example.test{PATH}?limit=3&cursor={cursor}>; rel=\"next\""));
        path = link.strip_prefix("<https://id.example.test").unwrap().split('>').next().unwrap().to_owned();
    }
    assert_eq!((seen, pages), ((0..COUNT).collect(), 3));
    assert_eq!(ids(&get(&app, &format!("{PATH}?parity=odd"), &key).await), [1, 3, 5]);
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_list_and_filters_alone() {
    let (app, _) = app().await;
    let key = key(&app).await;
    let page = get(&app, &format!("{PATH}?limit=2&parity=even"), &key).await;
    let cursor = page.json()["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(ids(&get(&app, &format!("{PATH}?parity=even&limit=5&cursor={cursor}"), &key).await), [4, 6]);
    let last = if cursor.ends_with('A') { 'B' } else { 'A' };
    let forged = format!("{last}{}", &cursor[1..]);
    for query in [
        format!("{PATH}?cursor={cursor}"),
        format!("{PATH}?parity=odd&cursor={cursor}"),
        format!("{OTHER}?parity=even&cursor={cursor}"),
        format!("{PATH}?parity=even&cursor={forged}"),
        format!("{PATH}?parity=even&cursor=x"),
        format!("{PATH}?limit=0"),
        format!("{PATH}?limit=101"),
        format!("{PATH}?limit=x"),
        format!("{PATH}?parity=both"),
        format!("{PATH}?colour=red"),
        format!("{PATH}?parity=odd&parity=even"),
        format!("{PATH}?parity=%00"),
    ] {
        assert_eq!(code(&get(&app, &query, &key).await), (400, "malformed".into()), "{query}");
    }
}

#[tokio::test]
async fn a_change_names_the_version_it_has_seen_and_keeps_what_it_does_not_name() {
    let (app, _) = app().await;
    let key = key(&app).await;
    let patch = |body: Value, headers: &'static [(&'static str, &'static str)]| {
        let (app, key) = (&app, &key);
        async move { call(app, Method::PATCH, PATH, key, Some(&body), headers).await }
    };
    assert_eq!(code(&patch(json!({"name": "x"}), &[]).await), (428, "version_required".into()));
    assert_eq!(
        code(&patch(json!({"name": "x"}), &[("if-match", "*")]).await),
        (428, "version_required".into())
    );
    assert_eq!(
        code(&patch(json!({"name": "x"}), &[("if-match", "\"2\"")]).await),
        (412, "version_mismatch".into())
    );
    assert_eq!(
        code(&patch(json!({"name": "x"}), &[("if-match", "W/\"3\"")]).await),
        (412, "version_mismatch".into())
    );
    let changed = patch(json!({"name": "x"}), &[("if-match", "\"3\"")]).await;
    assert_eq!((changed.status.as_u16(), changed.header("etag")), (200, "\"4\""));
    assert_eq!(changed.json(), json!({"name": "x", "note": "a note"}));
    let taken_away = patch(json!({"note": null}), &[("if-match", "\"3\"")]).await;
    assert_eq!(taken_away.json(), json!({"name": "before", "note": null}));
    for wrong in
        [json!({"nmae": "x"}), json!({"name": 1}), json!({"name": null}), json!([]), json!({"name": "\0"})]
    {
        let answer = patch(wrong.clone(), &[("if-match", "\"3\"")]).await;
        assert_eq!(code(&answer), (400, "malformed".into()), "{wrong}");
    }
    let typed = [("if-match", "\"3\""), ("content-type", "application/merge-patch+json")];
    let request = axum::http::Request::builder().method(Method::PATCH).uri(PATH);
    let request = typed.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request.header("authorization", format!("Bearer {key}"));
    let answer = app.send(request.body(axum::body::Body::from(r#"{"name":"y"}"#)).unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn who_prefers_a_short_answer_gets_one() {
    let (app, _) = app().await;
    let key = key(&app).await;
    let headers = [("if-match", "\"3\""), ("prefer", "return=minimal")];
    let short = call(&app, Method::PATCH, PATH, &key, Some(&json!({"name": "x"})), &headers).await;
    assert_eq!((short.status.as_u16(), short.text().as_str(), short.header("etag")), (204, "", "\"4\""));
    assert_eq!(short.header("preference-applied"), "return=minimal");
    let looked = format!("{PATH}?dry_run=true");
    let looked = call(&app, Method::PATCH, &looked, &key, Some(&json!({"name": "x"})), &headers).await;
    assert_eq!(looked.status, 200, "what only looks has nothing but its answer");
    let secret = [("prefer", "return=minimal")];
    let secret = call(&app, Method::POST, PATH, &key, Some(&json!({"secret": true})), &secret).await;
    assert_eq!((secret.status.as_u16(), &secret.json()["secret"]), (201, &json!("s3cret")));
}

async fn create(app: &TestApp, bearer: &str, idempotency: &str, body: &Value) -> Answer {
    call(app, Method::POST, PATH, bearer, Some(body), &[("idempotency-key", idempotency)]).await
}

#[tokio::test]
async fn the_same_key_makes_once_and_answers_the_same() {
    let (app, made) = app().await;
    let (mine, theirs) = (key(&app).await, key(&app).await);
    let first = create(&app, &mine, "\"k-1\"", &json!({})).await;
    assert_eq!((first.status.as_u16(), first.header("location")), (201, "/v1/platform/other/0"));
    for spelling in ["\"k-1\"", "k-1"] {
        let again = create(&app, &mine, spelling, &json!({})).await;
        assert_eq!((again.status, &again.body), (first.status, &first.body));
        for header in ["location", "etag", "content-type"] {
            assert_eq!(again.header(header), first.header(header));
        }
    }
    let other = create(&app, &mine, "k-1", &json!({"else": 1})).await;
    assert_eq!(code(&other), (422, "idempotency_conflict".into()));
    assert_eq!(create(&app, &theirs, "k-1", &json!({})).await.json()["id"], "1", "a key is its caller's own");
    assert_eq!(create(&app, &mine, "k-2", &json!({})).await.json()["id"], "2");
    for bad in ["", "\"\"", "a b", &"k".repeat(256)] {
        assert_eq!(code(&create(&app, &mine, bad, &json!({})).await), (400, "malformed".into()), "{bad}");
    }
    assert_eq!(made.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_secret_is_shown_once_and_kept_nowhere() {
    let (app, made) = app().await;
    let key = key(&app).await;
    let first = create(&app, &key, "k", &json!({"secret": true})).await;
    assert_eq!(first.json()["secret"], "s3cret");
    let again = create(&app, &key, "k", &json!({"secret": true})).await;
    assert_eq!((code(&again), &again.json()["id"]), ((409, "secret_already_shown".into()), &json!("0")));
    let client = app.database.client().await;
    let rows = client.query("SELECT answer::text FROM idempotent_request", &[]).await.unwrap();
    assert!(rows.len() == 1 && !rows[0].get::<_, String>(0).contains("s3cret"));
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn of_many_at_once_one_makes_it_and_a_lost_one_blocks_nobody_for_good() {
    let (app, made) = app().await;
    let app = Arc::new(app);
    let key = key(&app).await;
    let racing: Vec<_> = (0..8)
        .map(|_| {
            let (app, key) = (Arc::clone(&app), key.clone());
            tokio::spawn(async move { create(&app, &key, "race", &json!({"slow": 1500})).await })
        })
        .collect();
    let mut created = 0;
    for answer in racing {
        let answer = answer.await.unwrap();
        if answer.status == 201 {
            created += 1;
        } else {
            assert_eq!(code(&answer), (409, "idempotency_in_progress".into()));
        }
    }
    assert_eq!((created, made.load(Ordering::SeqCst)), (1, 1));

    // What was refused made nothing: the key is free. What broke may have: it is held for a while.
    assert_eq!(create(&app, &key, "refused", &json!({"fail": "refused"})).await.status, 409);
    assert_eq!(create(&app, &key, "refused", &json!({})).await.status, 201);
    assert_eq!(create(&app, &key, "broken", &json!({"fail": "broken"})).await.status, 503);
    let held = create(&app, &key, "broken", &json!({"fail": "broken"})).await;
    assert_eq!(code(&held), (409, "idempotency_in_progress".into()));
    let client = app.database.client().await;
    let past = r#"UPDATE idempotent_request SET answer = '{"until": 1}' WHERE status IS NULL"#;
    assert_eq!(client.execute(past, &[]).await.unwrap(), 1);
    assert_eq!(create(&app, &key, "broken", &json!({"fail": "broken"})).await.status, 503, "taken over");
}

#[tokio::test]
async fn calls_are_counted_by_caller_and_by_organization() {
    let (app, _) = app_with(3).await;
    let here = organization(&app, "here").await;
    let (mine, theirs) = (
        organization_key(&app, here, &["members:read"]).await,
        organization_key(&app, here, &["members:read"]).await,
    );
    let path = format!("/v1/organizations/{here}/test");
    let first = get(&app, &path, &mine).await;
    assert_eq!(first.header("ratelimit-policy"), "\"default\";q=3;w=60, \"organization\";q=15;w=60");
    assert_eq!(first.header("ratelimit"), "\"default\";r=2;t=20, \"organization\";r=14;t=4");
    assert_eq!(get(&app, &path, &mine).await.status, 200);
    assert_eq!(get(&app, &path, &mine).await.status, 200);
    let refused = get(&app, &path, &mine).await;
    assert_eq!(code(&refused), (429, "slow_down".into()));
    let wait: u32 = refused.header("retry-after").parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    assert!(refused.header("ratelimit").starts_with("\"default\";r=0;t="), "{}", refused.header("ratelimit"));
    assert_eq!(get(&app, &path, &theirs).await.status, 200, "another caller has calls of their own");
    // Somebody of the platform does not use up what is the organization's.
    let operator = platform_key(&app, &["organizations:administer"]).await;
    let why = [("porteiro-reason", "a test")];
    let answer = call(&app, Method::GET, &path, &operator, None, &why).await;
    assert_eq!(answer.header("ratelimit-policy"), "\"default\";q=3;w=60");
    let mut left = 0;
    for _ in 0..20 {
        let another = organization_key(&app, here, &["members:read"]).await;
        let answer = get(&app, &path, &another).await;
        if answer.status == 429 {
            assert!(answer.header("ratelimit").contains("\"organization\";r=0;"));
            break;
        }
        left += 1;
    }
    assert!((9..=16).contains(&left), "{left} of fifteen were left to the others");
}

#[tokio::test]
async fn the_document_is_served_and_every_reference_in_it_leads_somewhere() {
    let (app, _) = app().await;
    let answer = app.get("/v1/openapi.json").await;
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/v1/changes"]["get"]["responses"]["200"].is_object());
    let text = document.to_string();
    for (at, _) in text.match_indices("\"$ref\":\"") {
        let reference = text[at + 8..].split('"').next().unwrap();
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
    let described = porteiro_service::table().iter().filter(|route| route.documented().is_some()).count();
    assert_eq!(text.matches("\"operationId\":").count(), described);
    let changes = app.get("/v1/changes").await.json();
    assert_eq!(changes["items"][0]["kind"], "added");
}
