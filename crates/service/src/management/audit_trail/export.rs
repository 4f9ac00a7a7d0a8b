//! Exports all matching entries, oldest first, one JSON document per line. Pages are read as they are sent: a trail of
//! any length needs the memory of one page, and a slow reader holds no database connection.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use porteiro_protocol::id::OrganizationId;
use uuid::Uuid;

use crate::{
    App,
    audit_trail::{self, Filter, Found, Range},
    store::StoreError,
};

const PAGE: i64 = 500;

type Reading = Pin<Box<dyn Future<Output = Result<Vec<Found>, StoreError>> + Send>>;

/// A running export.
pub struct Export {
    app: Arc<App>,
    organization: OrganizationId,
    filter: Filter,
    up_to: Uuid,
    reading: Option<Reading>,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<export of {}>", self.organization)
    }
}

/// Starts an export. It ends with the newest entry of this moment, whatever is written while it runs.
pub async fn begin(
    app: &Arc<App>,
    organization: OrganizationId,
    filter: Filter,
) -> Result<Export, StoreError> {
    let newest = audit_trail::newest(&app.store, organization, &filter, None, 1).await?;
    let up_to = newest.first().map(|found| found.entry.id.uuid());
    let mut export = Export {
        app: Arc::clone(app),
        organization,
        filter,
        up_to: up_to.unwrap_or(Uuid::nil()),
        reading: None,
    };
    if up_to.is_some() {
        export.reading = Some(export.read(None));
    }
    Ok(export)
}

impl Export {
    fn read(&self, after: Option<Uuid>) -> Reading {
        let (app, organization, filter) = (Arc::clone(&self.app), self.organization, self.filter.clone());
        let from = Range::Oldest { after, up_to: self.up_to };
        Box::pin(async move { audit_trail::page(&app.store, organization, &filter, from, PAGE).await })
    }
}

impl Body for Export {
    type Data = Bytes;
    type Error = StoreError;

    /// An error aborts the response, so that an incomplete export does not look complete.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StoreError>>> {
        let Some(reading) = self.reading.as_mut() else { return Poll::Ready(None) };
        let page = ready!(reading.as_mut().poll(context));
        self.reading = None;
        let page = match page {
            Ok(page) => page,
            Err(error) => return Poll::Ready(Some(Err(error))),
        };
        let Some(last) = page.last().map(|found| found.entry.id.uuid()) else { return Poll::Ready(None) };
        if last < self.up_to {
            self.reading = Some(self.read(Some(last)));
        }
        Poll::Ready(Some(lines(page).map(Frame::data)))
    }
}

fn lines(page: Vec<Found>) -> Result<Bytes, StoreError> {
    let mut text = BytesMut::new();
    for found in page {
        let line = serde_json::to_vec(&found.shown());
        text.put(line.map_err(|error| StoreError::Inconsistent(error.to_string()))?.as_slice());
        text.put_u8(b'\n');
    }
    Ok(text.freeze())
}
