use porteiro_protocol::{id::OrganizationId, picture::Picture};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{Brand, Logo, decide::Said};
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

/// The owner of the branding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    Organization(Uuid),
    Client(String),
}

impl From<OrganizationId> for Owner {
    fn from(id: OrganizationId) -> Self {
        Self::Organization(id.uuid())
    }
}

impl Owner {
    const fn table(&self) -> (&'static str, &'static str) {
        match self {
            Self::Organization(_) => ("organization_branding", "organization_id"),
            Self::Client(_) => ("client_branding", "client_id"),
        }
    }

    fn key(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Organization(id) => id,
            Self::Client(id) => id,
        }
    }
}

fn decoded(table: &'static str, row: &Row) -> Result<Brand, RowError> {
    let brand = Decode::new(table, "of its owner", row);
    let logo = match brand.get::<Option<String>>("logo_digest")? {
        None => None,
        Some(digest) => {
            let side = |column| -> Result<u32, RowError> {
                u32::try_from(brand.get::<i32>(column)?).map_err(|error| brand.wrong(column, error))
            };
            Some(Logo { digest, width: side("logo_width")?, height: side("logo_height")? })
        }
    };
    Ok(Brand {
        said: Said {
            name: brand.get("name")?,
            color: brand.get("color")?,
            color_dark: brand.get("color_dark")?,
        },
        logo,
        version: brand.get("version")?,
    })
}

pub async fn find(reader: &impl Reader, owner: &Owner) -> Result<Option<Brand>, StoreError> {
    let (table, column) = owner.table();
    let sql = format!(
        "SELECT name, color, color_dark, logo_digest, logo_width, logo_height, version
         FROM {table} WHERE {column} = $1"
    );
    let rows = reader.rows("branding.find", &sql, &[owner.key()]).await?;
    rows.first().map(|row| decoded(table, row)).transpose().map_err(Into::into)
}

/// The caller holds the owner's lock.
pub async fn set_said(tx: &Tx, owner: &Owner, said: &Said) -> Result<(), StoreError> {
    let (table, column) = owner.table();
    let sql = format!(
        "INSERT INTO {table} AS b ({column}, name, color, color_dark) VALUES ($1, $2, $3, $4)
         ON CONFLICT ({column}) DO UPDATE SET name = $2, color = $3, color_dark = $4,
             version = b.version + 1, changed_at = now()"
    );
    tx.execute(&sql, &[owner.key(), &said.name, &said.color, &said.color_dark]).await.map(|_| ())
}

/// The caller holds the owner's lock.
pub async fn set_logo(tx: &Tx, owner: &Owner, logo: Option<(&Picture, &str)>) -> Result<(), StoreError> {
    let (table, column) = owner.table();
    let side = |side: u32| {
        i32::try_from(side).map_err(|_| StoreError::Inconsistent("a picture larger than any".into()))
    };
    let (width, height) = match logo {
        Some((picture, _)) => (Some(side(picture.width)?), Some(side(picture.height)?)),
        None => (None, None),
    };
    let bytes = logo.map(|(picture, _)| picture.bytes.as_slice());
    let kind = logo.map(|(picture, _)| picture.format.media_type());
    let digest = logo.map(|(_, digest)| digest);
    let sql = format!(
        "INSERT INTO {table} AS b ({column}, logo, logo_type, logo_width, logo_height, logo_digest)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT ({column}) DO UPDATE SET logo = $2, logo_type = $3, logo_width = $4, logo_height = $5,
             logo_digest = $6, version = b.version + 1, changed_at = now()"
    );
    tx.execute(&sql, &[owner.key(), &bytes, &kind, &width, &height, &digest]).await.map(|_| ())
}

/// A picture and its media type, while its owner is enabled.
pub async fn picture(
    reader: &impl Reader,
    owner: &Owner,
    digest: &str,
) -> Result<Option<(String, Vec<u8>)>, StoreError> {
    let sql = match owner {
        Owner::Organization(_) => {
            "SELECT b.logo_type, b.logo FROM organization_branding b JOIN organization o USING (organization_id)
             WHERE b.organization_id = $1 AND b.logo_digest = $2 AND o.status = 'enabled'"
        }
        Owner::Client(_) => {
            "SELECT b.logo_type, b.logo FROM client_branding b JOIN client c USING (client_id)
             WHERE b.client_id = $1 AND b.logo_digest = $2 AND c.disabled_at IS NULL
               AND c.trust <> 'unverified'"
        }
    };
    let rows = reader.rows("branding.picture", sql, &[owner.key(), &digest]).await?;
    let read = |row| -> Result<_, RowError> {
        let brand = Decode::new(owner.table().0, digest, row);
        Ok((brand.get("logo_type")?, brand.get("logo")?))
    };
    rows.first().map(read).transpose().map_err(Into::into)
}
