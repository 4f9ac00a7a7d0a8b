//! Domains: one organization proves a name by its record, and keeps it while the record is there.

mod zone;

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_service::{domains, jobs};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use self::zone::{Said, Zone};
use super::driver::{call, organization, organization_key, platform_key};

struct Scene {
    app: TestApp,
    zones: [Zone; 2],
}

struct Company<'a> {
    scene: &'a Scene,
    id: OrganizationId,
    key: String,
}

impl Scene {
    async fn new() -> Self {
        let zones = [Zone::start().await, Zone::start().await];
        let resolvers = zones.iter().map(|zone| zone.address).collect();
        let app = TestApp::builder().settings(|settings| settings.dns_resolvers = resolvers).start().await;
        Self { app, zones }
    }

    fn publish(&self, domain: &Value, said: &Said) {
        for zone in &self.zones {
            zone.set(domain["record"]["host"].as_str().unwrap(), said.clone());
        }
    }

    async fn company(&self, slug: &str) -> Company<'_> {
        let id = organization(&self.app, slug).await;
        Company { scene: self, id, key: organization_key(&self.app, id, &["domains:*"]).await }
    }

    /// The daily look-up, a day later.
    async fn a_day_passes(&self) {
        self.app
            .sql(
                "UPDATE organization_domain SET checked_at = checked_at - interval '25 hours',
                    failing_since = failing_since - interval '25 hours'",
            )
            .await;
        self.app.sql("UPDATE schedule SET next_run_at = now() WHERE name = 'domains.check'").await;
        jobs::run_due(&self.app.app).await.unwrap();
    }
}

fn value_of(domain: &Value) -> Said {
    Said::Texts(vec!["v=spf1 -all".into(), domain["record"]["value"].as_str().unwrap().into()])
}

impl Company<'_> {
    async fn call(&self, method: Method, rest: &str, body: Option<&Value>) -> Answer {
        let path = format!("/v1/organizations/{}/domains{rest}", self.id);
        call(&self.scene.app, method, &path, &self.key, body, &[]).await
    }

    async fn add(&self, name: &str) -> Value {
        let answer = self.call(Method::POST, "", Some(&json!({"name": name}))).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }

    async fn verify(&self, domain: &Value) -> Answer {
        self.call(Method::POST, &format!("/{}/verify", domain["id"].as_str().unwrap()), None).await
    }

    async fn state(&self, domain: &Value) -> String {
        let answer = self.call(Method::GET, &format!("/{}", domain["id"].as_str().unwrap()), None).await;
        answer.json()["state"].as_str().unwrap().to_owned()
    }

    async fn vouches(&self, name: &str) -> bool {
        domains::is_verified(&self.scene.app.app.store, self.id, name).await.unwrap()
    }

    async fn trail(&self, kind: &str) -> i64 {
        let entries =
            format!("SELECT count(*) FROM trail WHERE kind = '{kind}' AND organization_id = '{}'", self.id);
        self.scene.app.count(&entries).await
    }
}

#[tokio::test]
async fn a_domain_is_verified_by_its_record_and_by_nothing_else() {
    let scene = Scene::new().await;
    let acme = scene.company("acme").await;
    let domain = acme.add("Acme.Example.").await;
    assert_eq!((&domain["name"], &domain["state"]), (&json!("acme.example"), &json!("pending")));
    assert_eq!(domain["record"]["host"], "_idp-challenge.acme.example");
    assert!(!acme.vouches("acme.example").await);
    // Each thing that is not the record, with words about it.
    let value = domain["record"]["value"].as_str().unwrap();
    for (first, second, words) in [
        (None, None, "was not found"),
        (Some(value_of(&domain)), None, "some resolvers see the record"),
        (
            Some(Said::Texts(vec![format!("{value}x")])),
            Some(Said::Texts(vec![value.to_uppercase()])),
            "was not found",
        ),
        (Some(value_of(&domain)), Some(Said::Failure), "DNSSEC"),
        (Some(value_of(&domain)), Some(Said::Nothing), "do not answer"),
    ] {
        for (zone, said) in scene.zones.iter().zip([first, second]) {
            zone.set("_idp-challenge.acme.example", said.unwrap_or(Said::Texts(Vec::new())));
        }
        let answer = acme.verify(&domain).await;
        assert_eq!(answer.status, 409, "{}", answer.text());
        assert!(answer.text().contains(words), "{words}: {}", answer.text());
        assert_eq!(acme.state(&domain).await, "pending");
    }
    scene.publish(&domain, &value_of(&domain));
    let answer = acme.verify(&domain).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["state"]), (200, &json!("verified")));
    assert!(acme.vouches("acme.example").await);
    // A subdomain is a domain of its own.
    assert!(!acme.vouches("team.acme.example").await);
    assert_eq!((acme.trail("domain.added").await, acme.trail("domain.verified").await), (1, 1));
}

#[tokio::test]
async fn names_that_belong_to_nobody_alone_are_refused_and_domains_have_a_bound() {
    let scene = Scene::new().await;
    let acme = scene.company("acme").await;
    for name in ["com", "co.uk", "gmail.com", "127.0.0.1", "localhost", "a b.example", "", "*.acme.example"] {
        let answer = acme.call(Method::POST, "", Some(&json!({"name": name}))).await;
        assert_eq!(answer.status, 422, "{name} {}", answer.text());
    }
    acme.add("acme.example").await;
    assert_eq!(acme.call(Method::POST, "", Some(&json!({"name": "ACME.example"}))).await.status, 409);
    scene
        .app
        .sql(&format!(
            "INSERT INTO organization_domain (organization_id, domain_id, name, value, state)
             SELECT '{}', gen_random_uuid(), i || '.example', '', 'pending' FROM generate_series(1, 99) i",
            acme.id
        ))
        .await;
    let answer = acme.call(Method::POST, "", Some(&json!({"name": "one-more.example"}))).await;
    assert!(answer.text().contains("at most 100 domains"), "{}", answer.text());
}

#[tokio::test]
async fn a_name_is_verified_by_one_organization_and_taken_over_only_after_it_lapsed() {
    let scene = Scene::new().await;
    let (first, second) = (scene.company("first").await, scene.company("second").await);
    let (of_first, of_second) = (first.add("shared.example").await, second.add("shared.example").await);
    assert_ne!(of_first["record"]["value"], of_second["record"]["value"]);
    // Another organization's value proves nothing.
    scene.publish(&of_first, &value_of(&of_second));
    assert_eq!(first.verify(&of_first).await.status, 409);
    let both = |one: &Value| one["record"]["value"].as_str().unwrap().to_owned();
    scene.publish(&of_first, &Said::Texts(vec![both(&of_first), both(&of_second)]));
    assert_eq!(first.verify(&of_first).await.status, 200);
    let answer = second.verify(&of_second).await;
    assert!(answer.text().contains("another organization has verified"), "{}", answer.text());
    assert!(!second.vouches("shared.example").await);
    // The first loses its record; after seven days without it the name is free.
    scene.publish(&of_first, &value_of(&of_second));
    for day in 0..=7 {
        assert_eq!(first.state(&of_first).await, "verified", "day {day}");
        scene.a_day_passes().await;
    }
    assert_eq!(first.state(&of_first).await, "lapsed");
    assert!(!first.vouches("shared.example").await);
    assert_eq!(second.verify(&of_second).await.status, 200);
    assert!(second.vouches("shared.example").await);
    assert_eq!(
        (
            first.trail("domain.lapsed").await,
            first.trail("domain.taken_over").await,
            second.trail("domain.verified").await
        ),
        (1, 1, 1)
    );
    // The first publishes its record again, too late.
    scene.publish(&of_first, &Said::Texts(vec![both(&of_first), both(&of_second)]));
    assert_eq!(first.verify(&of_first).await.status, 409);
}

#[tokio::test]
async fn a_record_that_comes_back_and_resolvers_that_are_down_end_nothing() {
    let scene = Scene::new().await;
    let acme = scene.company("acme").await;
    let domain = acme.add("acme.example").await;
    scene.publish(&domain, &value_of(&domain));
    assert_eq!(acme.verify(&domain).await.status, 200);
    for said in [Said::Texts(Vec::new()), Said::Failure, value_of(&domain)] {
        scene.publish(&domain, &said);
        for _ in 0..5 {
            scene.a_day_passes().await;
        }
        let failing = "SELECT count(*) FROM organization_domain WHERE failing_since IS NOT NULL";
        let expected = i64::from(!matches!(&said, Said::Texts(texts) if texts.len() > 1));
        assert_eq!(scene.app.count(failing).await, expected, "{said:?}");
        scene.publish(&domain, &value_of(&domain));
        scene.a_day_passes().await;
        assert_eq!(scene.app.count(failing).await, 0, "{said:?}");
    }
    scene.publish(&domain, &Said::Nothing);
    for _ in 0..2 {
        scene.a_day_passes().await;
    }
    assert_eq!(
        scene.app.count("SELECT count(*) FROM organization_domain WHERE failing_since IS NOT NULL").await,
        0
    );
    assert_eq!(acme.state(&domain).await, "verified");
}

#[tokio::test]
async fn of_two_organizations_that_verify_a_name_at_once_one_has_it() {
    let scene = Scene::new().await;
    for round in 0..5 {
        let name = format!("race{round}.example");
        let (first, second) =
            (scene.company(&format!("a{round}")).await, scene.company(&format!("b{round}")).await);
        let (one, two) = (first.add(&name).await, second.add(&name).await);
        let texts = [&one, &two].map(|one| one["record"]["value"].as_str().unwrap().to_owned());
        scene.publish(&one, &Said::Texts(texts.to_vec()));
        let (left, right) = tokio::join!(first.verify(&one), second.verify(&two));
        let mut statuses = [left.status.as_u16(), right.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{} {}", left.text(), right.text());
        let vouching = [first.vouches(&name).await, second.vouches(&name).await];
        assert_eq!(vouching.iter().filter(|one| **one).count(), 1);
    }
}

/// The platform decides about a disputed name by removing it, with a reason.
#[tokio::test]
async fn the_platform_can_take_a_domain_away_and_the_trail_says_why() {
    let scene = Scene::new().await;
    let acme = scene.company("acme").await;
    let domain = acme.add("acme.example").await;
    scene.publish(&domain, &value_of(&domain));
    assert_eq!(acme.verify(&domain).await.status, 200);
    let platform = platform_key(&scene.app, &["organizations:administer"]).await;
    let path = format!("/v1/organizations/{}/domains/{}", acme.id, domain["id"].as_str().unwrap());
    let reason = [("Porteiro-Reason", "sold to Globex")];
    let answer = call(&scene.app, Method::DELETE, &path, &platform, None, &reason).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert!(!acme.vouches("acme.example").await);
    let entries = "SELECT count(*) FROM trail WHERE kind = 'domain.removed' AND reason = 'sold to Globex'";
    assert_eq!(scene.app.count(entries).await, 1);
    assert_eq!(scene.app.count("SELECT count(*) FROM verified_domain").await, 0);
}

#[tokio::test]
async fn verifications_are_limited_and_need_two_resolvers() {
    let scene = Scene::new().await;
    let acme = scene.company("acme").await;
    let domain = acme.add("acme.example").await;
    for _ in 0..10 {
        assert_eq!(acme.verify(&domain).await.status, 409);
    }
    assert_eq!(acme.verify(&domain).await.status, 429);

    let one = Zone::start().await;
    let app =
        TestApp::builder().settings(|settings| settings.dns_resolvers = vec![one.address]).start().await;
    let alone = Scene { app, zones: [one.clone(), one] };
    let acme = alone.company("acme").await;
    let domain = acme.add("acme.example").await;
    alone.publish(&domain, &value_of(&domain));
    let answer = acme.verify(&domain).await;
    assert!(answer.text().contains("dns_resolvers"), "{}", answer.text());
}
