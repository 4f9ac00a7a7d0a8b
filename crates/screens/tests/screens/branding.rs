//! The installation's own name, picture and colours.

use std::sync::Arc;

use porteiro_screens::{Deployment, mount};
use porteiro_testkit::TestApp;

use crate::driver::Person;

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
    assert!(refused.starts_with("brand_logo_file: ") && refused.ends_with("is no PNG, WebP or SVG picture"));
    std::fs::remove_file(&file).expect("the logo goes");
}
