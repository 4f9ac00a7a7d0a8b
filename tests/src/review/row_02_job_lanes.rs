//! A slow or dead destination delays nobody else's jobs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use porteiro_protocol::id::Id;
use porteiro_service::{jobs, oauth::clients::Trust};
use porteiro_testkit::TestApp;
use serde_json::json;
use tokio::{net::TcpListener, sync::watch, time::timeout};

use crate::{
    fetch::http,
    mail,
    oauth::{
        driver::{Relying, person},
        encode,
        site::Site,
    },
};

const DELIVERIES: i64 = 50_000;

/// Accepts connections and never says a word.
async fn silent_host() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, accepted) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&accepted);
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            held.push(stream);
        }
    });
    (port, accepted)
}

/// A port that was free a moment ago: connections are refused.
async fn refusing_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_mins(1), waiting).await.unwrap_or_else(|_| panic!("not in a minute: {what}"));
}

/// Signs somebody out of a client at each of these addresses; says what the clients are called.
async fn sign_out_of(app: &Arc<TestApp>, addresses: &[String]) -> Vec<String> {
    let mut browser = person(app).await;
    let (mut ids, mut hint) = (Vec::new(), String::new());
    for address in addresses {
        let client = Relying::with(app, Trust::Unverified, json!({"backchannel_logout_uri": address})).await;
        let tokens = client.tokens(&mut browser, app, &[]).await;
        tokens["id_token"].as_str().unwrap().clone_into(&mut hint);
        ids.push(client.id);
    }
    browser.get(&format!("/connect/logout?{}", encode(&[("id_token_hint", &hint)]))).await;
    ids
}

/// Repeats the deliveries to these clients, ahead of everything else that waits.
async fn repeat(app: &TestApp, clients: &[String]) {
    let sql = "INSERT INTO job SELECT copy.* FROM job, generate_series(1, $2) number,
                   LATERAL jsonb_populate_record(job, jsonb_build_object('job_id', gen_random_uuid(),
                       'run_at', now() - interval '1 hour', 'attempts', 0 * number)) copy
               WHERE job.kind = 'logout.tell' AND job.payload->>'client_id' = ANY($1)";
    let database = app.database.client().await;
    let inserted = database.execute(sql, &[&clients, &i32::try_from(DELIVERIES).unwrap()]).await.unwrap();
    assert_eq!(i64::try_from(inserted).unwrap(), DELIVERIES * 2);
}

#[tokio::test]
async fn a_hundred_thousand_failing_deliveries_delay_neither_mail_nor_keys_nor_other_clients() {
    let site = Site::start().await;
    site.answer("/logout", http("200 OK", "", ""));
    let ((silent, accepted), refusing) = (silent_host().await, refusing_port().await);
    let builder = site.builder().settings(|settings| {
        let dead = [format!("127.0.0.1:{silent}"), format!("127.0.0.1:{refusing}")];
        settings.outbound_client_hosts.extend(dead);
        mail::use_mail_server(settings);
    });
    let app = Arc::new(builder.start().await);
    let dead = [silent, refusing].map(|port| format!("https://127.0.0.1:{port}/logout"));
    let addresses = [dead[0].clone(), dead[1].clone(), site.url("/logout")];
    let clients = sign_out_of(&app, &addresses).await;
    // What registration mailed is not what is measured.
    app.sql("DELETE FROM job WHERE kind <> 'logout.tell'").await;
    repeat(&app, &clients[..2]).await;

    let (stop, stopped) = watch::channel(false);
    let runner = tokio::spawn(jobs::run_until(Arc::clone(&app.app), stopped));
    eventually("the silent host is asked", async || accepted.load(Ordering::Relaxed) > 0).await;

    let mut delays = Vec::new();
    let subject = format!("porteiro-lanes-{}", std::process::id());
    for number in 0..7 {
        let since = Instant::now();
        mail::enqueue(&app, "ana@example.test", &format!("{subject}-{number}")).await;
        let waiting = "SELECT count(*) FROM job WHERE kind = 'mail.send'";
        eventually("the mail leaves", async || app.count(waiting).await == 0).await;
        delays.push(since.elapsed());
    }
    mail::delivered(&format!("{subject}-6")).await;
    delays.sort();
    // With a barrier even the fastest would wait for deliveries that take three seconds, several of them; on a busy machine
    // the slowest takes as long without one.
    assert!(delays[0] < Duration::from_secs(3), "mail took {delays:?}");
    let rotated = "SELECT count(*) FROM job_outcome WHERE kind = 'keys.advance'";
    eventually("keys are looked after", async || app.count(rotated).await > 0).await;
    eventually("the other client is told", async || site.heard().len() == 1).await;

    // The dead hosts are paused as a whole: what waits for them spends neither attempts nor time.
    let paused = "SELECT count(*) FROM job_pause WHERE failures >= 3 AND resume_at > now()";
    eventually("both dead hosts are paused", async || app.count(paused).await == 2).await;
    assert!(app.count("SELECT sum(attempts)::bigint FROM job").await < 100);
    assert_eq!(app.count("SELECT count(*) FROM job WHERE kind = 'logout.tell'").await, DELIVERIES * 2 + 2);

    // A stop waits for what is under way and starts nothing new.
    stop.send(true).unwrap();
    timeout(Duration::from_secs(30), runner).await.expect("the runner stops").unwrap();
    assert_eq!(app.count("SELECT count(*) FROM job WHERE leased_by IS NOT NULL").await, 0);
}

#[tokio::test]
async fn a_host_that_is_back_gets_everything_at_once() {
    let site = Site::start().await;
    site.answer("/logout", http("503 Service Unavailable", "", ""));
    let app = site.app().await;
    sign_out_of(&app, &[site.url("/logout")]).await;
    let due = "UPDATE job SET run_at = now(); UPDATE job_pause SET resume_at = now()";
    for _ in 0..4 {
        jobs::run_due(&app.app).await.unwrap();
        app.sql("UPDATE job SET run_at = now()").await;
    }
    assert_eq!(site.heard().len(), 3, "the fourth time it was paused");
    app.sql(due).await;
    site.answer("/logout", http("200 OK", "", ""));
    jobs::run_due(&app.app).await.unwrap();
    assert_eq!(site.heard().len(), 4);
    assert_eq!(app.count("SELECT count(*) FROM job_pause").await, 0);
    assert_eq!(app.count("SELECT count(*) FROM job").await, 0);
}

#[tokio::test]
async fn what_a_host_did_not_take_for_a_day_is_given_up() {
    let app = crate::oauth::app().await;
    let row = "INSERT INTO job (job_id, kind, destination, payload, run_at, enqueued_at, parked_at) VALUES";
    let old = "now() + interval '1 hour', now() - interval '25 hours'";
    app.sql(&format!(
        "{row} (gen_random_uuid(), 'logout.tell', 'dead.example', '{{}}', {old}, NULL),
               (gen_random_uuid(), 'logout.tell', 'dead.example', '{{}}', {old}, now()),
               (gen_random_uuid(), 'mail.send', '', '{{}}', {old}, NULL);
         INSERT INTO job_pause VALUES ('logout.tell', 'gone.example', 5, now() - interval '2 days')"
    ))
    .await;
    jobs::run_due(&app.app).await.unwrap();
    let left = app.count("SELECT count(*) FROM job WHERE destination = 'dead.example'").await;
    assert_eq!(left, 1, "a parked one stays for an operator to look at");
    assert_eq!(
        app.count("SELECT count(*) FROM job WHERE kind = 'mail.send'").await,
        1,
        "mail is never given up"
    );
    assert_eq!(app.count("SELECT count(*) FROM job_pause").await, 0);
    app.sql("UPDATE job SET enqueued_at = now() - interval '8 days'; DELETE FROM schedule").await;
    jobs::run_due(&app.app).await.unwrap();
    assert_eq!(app.count("SELECT count(*) FROM job WHERE destination <> ''").await, 0);
}

/// Found by the fourth review: nobody has to own the host they name, so a stranger's failures there must pause nobody
/// else. A pause is a lane's, and each client has one.
#[tokio::test]
async fn clients_that_name_the_same_host_wait_in_lanes_of_their_own() {
    let app = TestApp::new().await;
    for client in ["stranger", "victim"] {
        let job = Id::random(&*app.app.entropy);
        app.app
            .store
            .run_tx("test.enqueue", |tx| async move {
                let to = ("https://shared.example/logout", client);
                jobs::enqueue_to(&tx, job, "logout.tell", to, &json!({})).await
            })
            .await
            .unwrap();
    }
    assert_eq!(app.count("SELECT count(DISTINCT destination) FROM job WHERE kind = 'logout.tell'").await, 2);
}
