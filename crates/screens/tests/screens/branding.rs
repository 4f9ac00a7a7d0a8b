//! The installation's own name, logo and colours.

use std::sync::Arc;

use porteiro_screens::{Deployment, mount};
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::TestApp;

use crate::{
    around::{asking, client},
    driver::{Person, app},
};

#[tokio::test]
async fn a_deployment_looks_like_itself() {
    let file = std::env::temp_dir().join(format!("porteiro-logo-{}.svg", std::process::id()));
    std::fs::write(&file, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").expect("a logo");
    let settings = |settings: &mut porteiro_service::settings::Settings| {
        settings.service_name = "Acme <One>".into();
        settings.brand_logo_file = Some(file.clone());
        settings.brand_color = Some("#7a1f5c".into());
    };
    let app = TestApp::builder().people().settings(settings).start().await;
    let entropy = Arc::clone(&app.app.entropy);
    let deployment = Deployment::of(&app.app.checked.settings, Arc::clone(&entropy)).expect("a deployment");
    let app = Arc::new(app.mounted(|router| mount(router, deployment)));
    let mut ana = Person::new(&app);
    let text = ana.visit("/ui/sign-in").await.1.text();
    assert!(text.contains("<span>Acme &#60;One&#62;</span>"), "{text}");
    let logo = text.split("<img src=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let picture = ana.get(&logo).await;
    assert_eq!(picture.header("content-type"), "image/svg+xml");
    assert!(picture.header("content-security-policy").starts_with("default-src 'none'"));
    let style =
        text.split("rel=\"stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(
        ana.get(&style)
            .await
            .text()
            .ends_with("@media (prefers-color-scheme:light){:root{--accent:#7a1f5c}}")
    );

    std::fs::write(&file, "GIF89a").expect("no logo");
    let refused = Deployment::of(&app.app.checked.settings, entropy).expect_err("not a picture we take");
    assert!(
        refused.starts_with("brand_logo_file: ") && refused.ends_with("is not a PNG, WebP or SVG picture")
    );
    std::fs::remove_file(&file).expect("the logo goes");
}

#[tokio::test]
async fn a_client_somebody_checked_looks_like_itself_and_the_service_stays_in_sight() {
    let (app, _) = app().await;
    let checked = client(&app, Trust::Verified).await;
    let stranger = client(&app, Trust::Unverified).await;
    app.sql(
        "INSERT INTO client_branding (client_id, color, logo, logo_type, logo_width, logo_height, logo_digest)
         SELECT client_id, '#7a1f5c', '\\x00', 'image/png', 48, 20, 'digest' FROM client",
    )
    .await;
    let text = Person::new(&app).visit(&asking(&checked, "openid")).await.1.text();
    let picture = format!("src=\"https://id.example.test/v1/branding/clients/{checked}/digest\"");
    assert!(text.contains(&picture) && text.contains("<span>Ledger</span>"), "{text}");
    assert!(text.contains("href=\"/ui/look/7a1f5c-none.css\""));
    assert!(text.contains("href=\"https://app.example.test/privacy\""));
    assert!(text.contains("href=\"https://app.example.test/terms\""));
    assert!(text.contains("<span>id.example.test</span>") && text.contains("class=\"brand\""));
    let style = Person::new(&app).get("/ui/look/7a1f5c-none.css").await;
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(style.text(), "@media (prefers-color-scheme:light){main{--accent:#7a1f5c}}");
    assert_eq!(Person::new(&app).get("/ui/look/ffffff-none.css").await.status, 404);

    let text = Person::new(&app).visit(&asking(&stranger, "openid")).await.1.text();
    assert!(!text.contains("/v1/branding/") && !text.contains("/ui/look/"), "{text}");
    assert!(!text.contains("https://app.example.test/privacy"), "nobody is sent to a stranger's pages");
}
