//! The headers of every page.

use porteiro_service::oauth::clients::Trust;

use crate::{
    around::{asking, client},
    driver::{Person, app, one, title},
};

#[tokio::test]
async fn every_page_has_the_header_set() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let flow = ana.visit("/ui/sign-in").await.0;
    let mut nonces = Vec::new();
    for (path, opener) in [
        (flow.as_str(), "unsafe-none"),
        ("/ui/flow/nothing", "unsafe-none"),
        ("/ui/link", "unsafe-none"),
        ("/ui/account/security", "same-origin"),
        ("/ui/account/activity", "same-origin"),
        ("/ui/account/approvals", "same-origin"),
        ("/connect/logout", "same-origin"),
        ("/nowhere", "unsafe-none"),
    ] {
        let page = ana.get(path).await;
        let header = |name: &str| one(&page.headers, name).to_owned();
        let policy = header("content-security-policy");
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned();
        // Only one page registers the service worker.
        let worker = if path == "/ui/account/approvals" { " worker-src 'self';" } else { "" };
        assert_eq!(
            policy,
            format!(
                "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'self'; \
                 img-src 'self' data:; connect-src 'self';{worker} form-action 'self'; base-uri 'none'; \
                 frame-ancestors 'none'"
            ),
            "{path}"
        );
        assert!(page.text().contains(&format!("<script nonce=\"{nonce}\" src=\"/ui/assets/")), "{path}");
        assert!(!nonces.contains(&nonce), "a nonce is used once");
        nonces.push(nonce);
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(header("cross-origin-opener-policy"), opener, "{path}");
        assert!(header("strict-transport-security").contains("max-age"), "{path}");
        let text = page.text();
        for inline in [" style=", " onclick=", "<style", "http://", "//cdn"] {
            assert!(!text.contains(inline), "{path} has {inline}");
        }
    }
}

/// Browsers apply `form-action` to redirects after a form as well, and only the client knows where it redirects to.
#[tokio::test]
async fn a_page_that_posts_to_the_client_says_nothing_of_forms_and_keeps_the_rest() {
    let (app, _) = app().await;
    let client = client(&app, Trust::Verified).await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let asking = format!("{}&response_mode=form_post", asking(&client, "openid%20email"));
    let (path, page) = ana.visit(&asking).await;
    assert!(one(&page.headers, "content-security-policy").contains(" form-action 'self';"), "asked here");
    let page = ana.act(&page, &path, "consent/allow", &[]).await;
    assert_eq!(title(&page), "Continuing to app.example.test", "{}", page.text());
    let text = page.text();
    assert!(text.contains("<form method=\"post\" action=\"https://app.example.test/callback\""), "{text}");
    assert_eq!(text.matches("<form ").count(), 1, "{text}");
    let policy = one(&page.headers, "content-security-policy");
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'self'; \
             img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
    );
    assert_eq!(one(&page.headers, "referrer-policy"), "same-origin");
    assert_eq!(one(&page.headers, "cache-control"), "no-store");
}

#[tokio::test]
async fn assets_are_kept_and_named_by_what_is_in_them() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let text = ana.visit("/ui/sign-in").await.1.text();
    let paths: Vec<&str> = text.split('"').filter(|part| part.starts_with("/ui/assets/")).collect();
    assert_eq!(paths.len(), 3, "style, mark, script");
    for path in paths {
        let asset = ana.get(path).await;
        assert_eq!(asset.status, 200, "{path}");
        assert_eq!(asset.header("cache-control"), "public, max-age=31536000, immutable");
        assert!(!asset.body.is_empty());
        let other = path.replace("/ui/assets/", "/ui/assets/x");
        assert_eq!(ana.get(&other).await.status, 404);
    }
}
