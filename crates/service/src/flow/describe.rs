//! `/v1/flows` in the OpenAPI document. `docs/flows.md` explains it, with the actions and their fields.

use std::borrow::Cow;

use http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{api::Operation, http::ProblemCode};

pub fn open() -> Operation {
    Operation::new("flows.create", "Start a flow")
        .takes::<NewFlow>()
        .gives::<Flow>()
        .with_status(StatusCode::CREATED)
        .refuses(BINDING)
        .refuses(&[ProblemCode::Unauthenticated, ProblemCode::Forbidden, ProblemCode::SlowDown])
}

pub fn show() -> Operation {
    Operation::new("flows.get", "Get the current step of a flow")
        .gives::<Flow>()
        .refuses(BINDING)
        .refuses(GONE)
}

pub fn cancel() -> Operation {
    Operation::new("flows.cancel", "Cancel a flow").gives::<Flow>().refuses(BINDING).refuses(GONE)
}

pub fn act() -> Operation {
    Operation::new("flows.act", "Take one of the actions that a flow offers at its current step")
        .takes::<FlowAction>()
        .gives::<Flow>()
        .refuses(BINDING)
        .refuses(GONE)
        .refuses(&[
            ProblemCode::UnknownAction,
            ProblemCode::Unauthenticated,
            ProblemCode::Forbidden,
            ProblemCode::StepStale,
            ProblemCode::Refused,
            ProblemCode::CredentialUnknown,
            ProblemCode::FieldInvalid,
            ProblemCode::SlowDown,
        ])
}

/// Refusals of requests that do not come from the browser or app of the flow.
const BINDING: &[ProblemCode] =
    &[ProblemCode::OriginRefused, ProblemCode::BrowserNotAllowed, ProblemCode::FlowNotFound];
const GONE: &[ProblemCode] = &[ProblemCode::FlowExpired, ProblemCode::FlowFinished];

struct NewFlow;

impl JsonSchema for NewFlow {
    fn schema_name() -> Cow<'static, str> {
        "NewFlow".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["kind"],
            "additionalProperties": false,
            "properties": {
                "kind": {"type": "string", "description": "Such as `sign_in`, `register`, `recover` or `enrol`."},
                "transport": {"enum": ["browser", "api", null], "description": "`browser` by default."},
                "locale": {"type": ["string", "null"]},
                "enrol": {"type": ["string", "null"], "description": "The kind of credential to enrol."},
                "level": {"type": ["string", "null"], "description": "The level that the flow must reach."},
                "bootstrap_key": {"type": ["string", "null"]},
                "invitation": {"type": ["string", "null"], "description": "The secret of an invitation."},
                "user_code": {"type": ["string", "null"], "description": "The code that a device shows."},
                "organization": {"type": ["string", "null"], "description": "The organization to sign in to, by id or slug, with `sign_in`."},
            },
        })
    }
}

struct FlowAction;

impl JsonSchema for FlowAction {
    fn schema_name() -> Cow<'static, str> {
        "FlowAction".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "The step that is answered, and the fields of the action.",
            "required": ["step"],
            "properties": {"step": {"type": "integer"}},
        })
    }
}

struct Flow;

impl JsonSchema for Flow {
    fn schema_name() -> Cow<'static, str> {
        "Flow".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["kind", "stage", "continue"],
            "properties": {
                "id": {"type": "string", "description": "Absent if the flow ended at once."},
                "kind": {"type": "string"},
                "stage": {"type": "string", "description": "What the flow asks for now."},
                "step": {"type": "integer"},
                "expires_at": {"type": "string", "format": "date-time"},
                "phrase": {"type": "string", "description": "Two words that are also in the mail."},
                "account": {"type": ["object", "null"]},
                "assurance": {"type": "object"},
                "actions": {"type": "array", "items": {"type": "object", "required": ["name", "fields"]}},
                "challenge": {"description": "What the last step produced."},
                "notices": {"type": "array"},
                "reason": {"type": "string", "description": "Why the flow was denied."},
                "request": {"type": "object", "description": "The authorization request."},
                "organizations": {"type": "array"},
                "connections": {"type": "array", "description": "Other providers by which the person may sign in."},
                "remembered": {"type": "object", "description": "The connection that was used last in this browser."},
                "claim": {"type": "object", "description": "Whom the organization's directory vouched for."},
                "branding": {"type": "object"},
                "continue": {"type": ["object", "null"], "description": "What follows the end of the flow."},
                "auth_session": {"type": "string", "description": "The token of the next call, for apps."},
            },
        })
    }
}
