//! Mail through a real SMTP server with STARTTLS and a login.

use std::time::Duration;

use porteiro_service::{
    jobs,
    mail::{self, Mail},
    settings::{Sensitive, Settings},
};
use porteiro_testkit::{TestApp, TestAppBuilder, variable};

fn with_mail_server() -> TestAppBuilder {
    TestApp::builder().settings(use_mail_server)
}

/// Sends mail through the server that `scripts/up` started.
pub fn use_mail_server(settings: &mut Settings) {
    let wanted = |name| {
        variable(name).unwrap_or_else(|| panic!("{name} is not set; run: eval \"$(scripts/up --fast)\""))
    };
    let (url, authority) = (wanted("PORTEIRO_TEST_SMTP_URL"), wanted("PORTEIRO_TEST_SMTP_CA"));
    settings.smtp_url = Some(Sensitive::new(url));
    settings.smtp_ca_file = Some(authority.into());
    settings.mail_from = "Porteiro <porteiro@example.test>".into();
}

pub async fn enqueue(app: &TestApp, to: &str, subject: &str) {
    let mail = Mail {
        to: to.into(),
        subject: subject.into(),
        text: "Olá, plain.".into(),
        html: "<p>Olá, rich.</p>".into(),
        not_after: None,
    };
    let (service, mail) = (&app.app, &mail);
    service
        .store
        .run_tx("test.mail", |tx| async move { mail::enqueue(service, &tx, mail).await })
        .await
        .unwrap();
}

/// The mail with this subject, once it has been delivered.
pub async fn delivered(subject: &str) -> String {
    let folder = variable("PORTEIRO_TEST_MAILDIR").expect("PORTEIRO_TEST_MAILDIR");
    for _ in 0..1200 {
        for entry in std::fs::read_dir(format!("{folder}/new")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            if text.contains(subject) {
                return text;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no mail with subject {subject}");
}

#[tokio::test]
async fn a_mail_reaches_its_recipient_in_both_forms() {
    let app = with_mail_server().start().await;
    let subject = format!("porteiro-test-{}", std::process::id());
    enqueue(&app, "ana@example.test", &subject).await;
    jobs::run_due(&app.app).await.unwrap();
    let mail = delivered(&subject).await;
    assert!(mail.contains("To: ana@example.test"));
    assert!(mail.contains("From: Porteiro <porteiro@example.test>"));
    assert!(mail.contains("text/plain") && mail.contains("text/html"));
    assert!(mail.contains("with ESMTPSA") || mail.contains("esmtpsa"), "encrypted and logged in:\n{mail}");
}

#[tokio::test]
async fn a_wrong_password_or_an_unknown_authority_sends_nothing_and_is_tried_again() {
    let url = variable("PORTEIRO_TEST_SMTP_URL").expect("PORTEIRO_TEST_SMTP_URL");
    let (_, rest) = url.split_once('@').unwrap();
    let wrong = format!("smtp://porteiro:wrong@{rest}");
    let bad_login = with_mail_server()
        .settings(move |settings| settings.smtp_url = Some(Sensitive::new(wrong)))
        .start()
        .await;
    let bad_authority = with_mail_server().settings(|settings| settings.smtp_ca_file = None).start().await;
    for app in [bad_login, bad_authority] {
        enqueue(&app, "ana@example.test", "never").await;
        jobs::run_due(&app.app).await.unwrap();
        assert!(app.app.mailer.probe().await.is_err());
        let (kept, error): (i64, Option<String>) = {
            let row = app
                .database
                .client()
                .await
                .query_one("SELECT count(*), max(last_error) FROM job WHERE kind = 'mail.send'", &[])
                .await
                .unwrap();
            (row.get(0), row.get(1))
        };
        assert_eq!(kept, 1);
        assert!(!error.unwrap().contains("ana@"), "errors name nobody");
    }
}

/// An expired code is never delivered, and what waits is unreadable in the database.
#[tokio::test]
async fn f9_a_mail_waits_encrypted_and_is_not_sent_once_its_code_is_dead() {
    let app = with_mail_server().start().await;
    let subject = format!("porteiro-expired-{}", std::process::id());
    let mail = Mail {
        to: "ana@example.test".into(),
        subject: subject.clone(),
        text: "123456".into(),
        html: String::new(),
        not_after: Some(0),
    };
    let (service, mail) = (&app.app, &mail);
    service
        .store
        .run_tx("test.mail", |tx| async move { mail::enqueue(service, &tx, mail).await })
        .await
        .unwrap();
    let stored: String =
        app.database.client().await.query_one("SELECT payload::text FROM job", &[]).await.unwrap().get(0);
    assert!(!stored.contains("ana@") && !stored.contains("123456") && !stored.contains(&subject), "{stored}");
    jobs::run_due(&app.app).await.unwrap();
    let folder = variable("PORTEIRO_TEST_MAILDIR").expect("PORTEIRO_TEST_MAILDIR");
    tokio::time::sleep(Duration::from_millis(300)).await;
    for entry in std::fs::read_dir(format!("{folder}/new")).into_iter().flatten().flatten() {
        assert!(!std::fs::read_to_string(entry.path()).unwrap_or_default().contains(&subject));
    }
}
