//! Lists of many members: a page costs the same wherever it is, whatever is asked.

use porteiro_service::members::{Filter, State};
use porteiro_testkit::TestApp;

use super::driver::organization;

const MEMBERS: u32 = 40_000;

/// An organization with many people; every hundredth disabled, every fiftieth removed, every thousandth an administrator.
async fn crowd(app: &TestApp) -> String {
    let here = organization(app, "here").await.to_string();
    app.sql(&format!(
        "INSERT INTO account (account_id, state, display_name, locale, user_handle, platform_administrator)
         SELECT gen_random_uuid(), 'active', 'Person', 'en', decode(md5(n::text), 'hex'), false
         FROM generate_series(1, {MEMBERS}) n;
         INSERT INTO membership (organization_id, membership_id, account_id, state, source, display_name, primary_role,
             created_at)
         SELECT '{here}', gen_random_uuid(), account_id,
                CASE WHEN n % 100 = 1 THEN 'disabled' WHEN n % 50 = 2 THEN 'removed' ELSE 'active' END, 'admin',
                'Person', 'member', now() - interval '1 year' + n * interval '1 second'
         FROM (SELECT account_id, row_number() OVER () AS n FROM account) a;
         INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
         SELECT organization_id, CASE WHEN row_number() OVER (ORDER BY created_at) % 1000 = 7 THEN 'admin' ELSE 'member' END,
                created_at, membership_id FROM membership WHERE state <> 'removed';
         ANALYZE account; ANALYZE membership; ANALYZE membership_role; ANALYZE organization"
    ))
    .await;
    here
}

/// The plan of a page as the service runs it, with what it touched.
async fn plan(app: &TestApp, here: &str, filter: &Filter, after: &str) -> (String, u64) {
    let client = app.database.client().await;
    let role = filter.role.as_ref().map(|role| format!(", '{role}'")).unwrap_or_default();
    let mut text = Vec::new();
    let statements = format!(
        "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off;
         PREPARE page AS {};
         EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)
             EXECUTE page('{here}', '{after}', '00000000-0000-0000-0000-000000000000'{role})",
        filter.statement(101)
    );
    for message in client.simple_query(&statements).await.unwrap() {
        if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
            text.push(row.get(0).unwrap_or_default().to_owned());
        }
    }
    let buffers = text.iter().find_map(|line| line.trim().strip_prefix("Buffers: shared hit="));
    let buffers = buffers.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    let text = text.join("\n");
    let buffers = buffers.unwrap_or_else(|| panic!("no buffers in\n{text}"));
    (text, buffers)
}

#[tokio::test]
async fn every_page_of_every_list_walks_one_index() {
    let app = TestApp::new().await;
    let here = crowd(&app).await;
    let deep = app.database.client().await;
    let deep = deep
        .query_one("SELECT created_at::text FROM membership ORDER BY created_at OFFSET 39000 LIMIT 1", &[])
        .await
        .unwrap()
        .get::<_, String>(0);
    let of = |state, role: Option<&str>| Filter { state, role: role.map(str::to_owned), created_after: None };
    for filter in [
        of(None, None),
        of(Some(State::Active), None),
        of(Some(State::Disabled), None),
        of(Some(State::Removed), None),
        of(None, Some("member")),
        of(None, Some("admin")),
        of(Some(State::Active), Some("member")),
        of(Some(State::Disabled), Some("member")),
    ] {
        let mut pages = Vec::new();
        for after in ["1970-01-01", &deep] {
            // Once for the catalogue, once to look.
            plan(&app, &here, &filter, after).await;
            let (text, buffers) = plan(&app, &here, &filter, after).await;
            // A member's few roles are sorted; the members are not.
            let walk = text.split("SubPlan").next().unwrap_or_default();
            assert!(
                !text.contains("Seq Scan") && !walk.contains("Sort"),
                "{filter:?} after {after}:\n{text}"
            );
            assert!(buffers < 3_000, "{filter:?} after {after}: {buffers} pages read\n{text}");
            pages.push(buffers);
        }
        let (first, last) = (pages[0].max(1), pages[1]);
        assert!(last <= first * 2, "{filter:?}: {first} pages read for the first, {last} for a late one");
    }
}
