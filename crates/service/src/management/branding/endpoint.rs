use std::sync::Arc;

use axum::{
    Extension,
    extract::{FromRequest, Path, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::{
    id::OrganizationId,
    picture::{Format, Picture},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{Change, change, find};
use crate::{
    App,
    api::{self, Operation, Patch, Seen},
    branding::{
        self, Brand, Owner,
        decide::{self, LARGEST_LOGO, Said},
        logo_path,
    },
    http::{Access, Problem, ProblemCode, RequestContext, Route},
    management::{Caller, platform::clients},
};

const ORGANIZATION: &str = "/v1/organizations/{organization}/branding";
const ORGANIZATION_LOGO: &str = "/v1/organizations/{organization}/branding/logo";
const CLIENT: &str = "/v1/platform/clients/{client_id}/branding";
const CLIENT_LOGO: &str = "/v1/platform/clients/{client_id}/branding/logo";
const READ: Access = Access::Organization("organization:read");
const WRITE: Access = Access::Organization(super::WRITE);
const READ_CLIENT: Access = Access::Platform("platform.clients:read");
const WRITE_CLIENT: Access = Access::Platform(super::WRITE_CLIENT);
const PICTURE: Access = Access::Public("a logo that is shown before sign-in");

pub fn routes() -> Vec<Route> {
    vec![
        Route::get(ORGANIZATION, READ, show)
            .operation(shows("branding.get", "Get the branding of an organization")),
        Route::patch(ORGANIZATION, WRITE, say)
            .operation(says("branding.update", "Update the name and colours on an organization's pages")),
        Route::put(ORGANIZATION_LOGO, WRITE, put_logo)
            .operation(takes_logo("branding.set_logo", "Set the logo of an organization")),
        Route::delete(ORGANIZATION_LOGO, WRITE, drop_logo)
            .operation(shows("branding.delete_logo", "Delete the logo of an organization")),
        Route::get(CLIENT, READ_CLIENT, show)
            .operation(shows("client_branding.get", "Get the branding of a client")),
        Route::patch(CLIENT, WRITE_CLIENT, say)
            .operation(says("client_branding.update", "Update the name and colours on a client's pages")),
        Route::put(CLIENT_LOGO, WRITE_CLIENT, put_logo)
            .operation(takes_logo("client_branding.set_logo", "Set the logo of a client")),
        Route::delete(CLIENT_LOGO, WRITE_CLIENT, drop_logo)
            .operation(shows("client_branding.delete_logo", "Delete the logo of a client")),
        Route::get("/v1/branding/organizations/{owner}/{digest}", PICTURE, organization_picture)
            .described(gives_logo("branding.get_logo", "Get the logo of an organization")),
        Route::get("/v1/branding/clients/{owner}/{digest}", PICTURE, client_picture)
            .described(gives_logo("client_branding.get_logo", "Get the logo of a client")),
    ]
}

fn shows(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(id, summary).gives::<Shown>().versioned()
}

fn says(id: &'static str, summary: &'static str) -> Operation {
    shows(id, summary)
        .patches::<Said>()
        .example(json!({"color": "#7a1f5c", "color_dark": "#e9a6cf"}))
        .refuses(&[ProblemCode::FieldInvalid])
}

fn takes_logo(id: &'static str, summary: &'static str) -> Operation {
    shows(id, summary).takes_media(Format::MEDIA_TYPES).refuses(&[ProblemCode::FieldInvalid])
}

fn gives_logo(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(id, summary).gives_media(Format::MEDIA_TYPES)
}

/// The branding of an organization or a client.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Branding")]
struct Shown {
    name: Option<String>,
    color: Option<String>,
    color_dark: Option<String>,
    logo: Option<ShownLogo>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BrandingLogo")]
struct ShownLogo {
    /// Where the picture is served. A different picture has a different URI.
    uri: String,
    width: u32,
    height: u32,
}

impl Shown {
    fn new(app: &App, owner: &Owner, brand: Brand) -> Self {
        let logo = brand.logo.map(|logo| ShownLogo {
            uri: format!("{}{}", app.issuer(), logo_path(owner, &logo.digest)),
            width: logo.width,
            height: logo.height,
        });
        Self { name: brand.said.name, color: brand.said.color, color_dark: brand.said.color_dark, logo }
    }
}

/// The owner of the branding: the organization of the caller, or else the client in the path.
async fn owner(app: &App, caller: &Caller, Path(id): Path<String>) -> Result<Owner, Problem> {
    if caller.organization.is_some() {
        return Ok(caller.organization()?.id.into());
    }
    if clients::exists(app, &id).await? { Ok(Owner::Client(id)) } else { Err(ProblemCode::NotFound.into()) }
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    path: Path<String>,
) -> Result<Response, Problem> {
    let owner = owner(&app, &caller, path).await?;
    let brand = find(&app, &owner).await?;
    Ok(api::one(brand.version, &Shown::new(&app, &owner, brand)))
}

async fn say(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    path: Path<String>,
    context: RequestContext,
    seen: Seen,
    patch: Patch<Said>,
) -> Result<Response, Problem> {
    let owner = owner(&app, &caller, path).await?;
    let now = find(&app, &owner).await?;
    seen.check(now.version)?;
    let said = patch.apply(&now.said)?.checked().map_err(|(field, why)| wrong(field, &why))?;
    changed(&app, &context, &caller, &owner, seen, &Change::Said(said)).await
}

async fn put_logo(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    path: Path<String>,
    context: RequestContext,
    seen: Seen,
    Uploaded(picture): Uploaded,
) -> Result<Response, Problem> {
    let owner = owner(&app, &caller, path).await?;
    changed(&app, &context, &caller, &owner, seen, &Change::Logo(Box::new(picture))).await
}

async fn drop_logo(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    path: Path<String>,
    context: RequestContext,
    seen: Seen,
) -> Result<Response, Problem> {
    let owner = owner(&app, &caller, path).await?;
    changed(&app, &context, &caller, &owner, seen, &Change::NoLogo).await
}

async fn changed(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    owner: &Owner,
    seen: Seen,
    what: &Change,
) -> Result<Response, Problem> {
    let brand = change(app, context, caller, owner, seen, what).await?;
    Ok(api::one(brand.version, &Shown::new(app, owner, brand)))
}

fn wrong(field: &str, why: &str) -> Problem {
    let errors = json!([{"pointer": format!("/{field}"), "code": "field_invalid", "detail": why}]);
    Problem::new(ProblemCode::FieldInvalid, format!("{field} {why}"))
        .with(serde_json::Map::from_iter([("errors".to_owned(), errors)]))
}

/// An uploaded logo, parsed and rebuilt.
struct Uploaded(Picture);

impl<S: Sync> FromRequest<S> for Uploaded {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let said = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let said = [Format::Png, Format::Jpeg, Format::Webp]
            .into_iter()
            .find(|format| said.is_some_and(|said| said.trim().eq_ignore_ascii_case(format.media_type())));
        let Some(said) = said else {
            let text = format!("the picture must be {}", Format::MEDIA_TYPES.join(", "));
            return Err(Problem::new(ProblemCode::UnsupportedMedia, text));
        };
        let bytes = crate::http::read(request, LARGEST_LOGO).await?;
        decide::logo(&bytes, said).map(Self).map_err(|why| Problem::new(ProblemCode::FieldInvalid, why))
    }
}

async fn organization_picture(
    State(app): State<Arc<App>>,
    Path((owner, digest)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let id: OrganizationId = owner.parse().map_err(|_| ProblemCode::NotFound)?;
    picture(&app, &id.into(), &digest).await
}

async fn client_picture(
    State(app): State<Arc<App>>,
    Path((owner, digest)): Path<(String, String)>,
) -> Result<Response, Problem> {
    picture(&app, &Owner::Client(owner), &digest).await
}

async fn picture(app: &App, owner: &Owner, digest: &str) -> Result<Response, Problem> {
    let found = branding::picture(&app.store, owner, digest).await?;
    let (kind, bytes) = found.ok_or(ProblemCode::NotFound)?;
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_str(&kind).unwrap_or(HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    // Front ends of other origins may show it too.
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    Ok(response)
}
