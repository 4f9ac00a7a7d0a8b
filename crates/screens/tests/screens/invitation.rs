//! The page of an invitation says who invites, and whom, before anything is accepted.

use porteiro_protocol::id::{Id, InvitationId};
use porteiro_service::{
    invitations::{self, NewInvitation},
    secrets::{HandleKind, Route},
};
use porteiro_testkit::TestApp;

use crate::{
    around::belongs,
    driver::{Person, app, title},
};

/// The secret of an invitation to ana@work.example.test.
async fn invited(app: &TestApp, ana: &mut Person) -> String {
    let account = ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id");
    let organization = belongs(app, account, "acme", "owner").await;
    app.sql("UPDATE organization SET name = 'Acme <b>& Sons'").await;
    let id: InvitationId = Id::random(&*app.app.entropy);
    let route = Route { owner: organization.uuid(), row: id.uuid(), generation: 0 };
    let secret = app.app.secrets.handles.issue(HandleKind::Invitation, route, &*app.app.entropy);
    let secret = secret.expect("a secret");
    let new = &NewInvitation {
        organization,
        id,
        email: "ana@work.example.test",
        mailbox: &[7; 32],
        role: "member",
        hash: &secret.hash,
        invited_by: "test",
        seconds: 3_600.0,
    };
    let work = |tx| async move { invitations::put(&tx, new).await };
    app.app.store.run_tx("test.invited", work).await.expect("an invitation");
    secret.text.to_string()
}

#[tokio::test]
async fn the_page_names_the_organization_and_whom_the_invitation_is_for_in_both_languages() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let token = invited(&app, &mut ana).await;
    let mut nobody = Person::new(&app);
    for person in [&mut ana, &mut nobody] {
        let page = person.post("/ui/invitation", &[("action", "look"), ("token", &token)]).await;
        assert_eq!(page.status, 200, "{}", page.text());
        assert!(title(&page).contains("invites you"), "{}", page.text());
        assert!(page.text().contains("Acme &#60;b&#62;&#38; Sons invites you"), "{}", page.text());
        assert!(!page.text().contains("<b>&"), "{}", page.text());
        assert!(page.text().contains("sent to a•••@w•••.test"), "masked: {}", page.text());
        assert!(page.text().contains(&format!("value=\"{token}\"")), "{}", page.text());
    }
    nobody.language = "pt-BR";
    let page = nobody.post("/ui/invitation", &[("action", "look"), ("token", &token)]).await;
    assert!(page.text().contains("Sons convida você"), "{}", page.text());
    nobody.language = "en";
    let wrong = nobody.post("/ui/invitation", &[("action", "look"), ("token", "pt_inv_nothing")]).await;
    assert_eq!(wrong.status, 422, "{}", wrong.text());
    assert_eq!(title(&wrong), "You are invited");
}
