//! Reads PostgreSQL's catalogue.

use tokio_postgres::{Client, Error};

use super::{Column, ForeignKey, Index, Schema, Table};

const TABLES: &str = "
    SELECT c.oid, c.relname::text AS name, coalesce(obj_description(c.oid, 'pg_class'), '') AS comment,
           pg_get_partkeydef(c.oid) AS partitioned_by
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY c.relname";

const COLUMNS: &str = "
    SELECT attname::text AS name, format_type(atttypid, atttypmod) AS kind, attnotnull AS not_null,
           attidentity <> '' AS identity
    FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum";

const INDEXES: &str = "
    SELECT c.relname::text AS name, i.indisunique OR i.indisexclusion AS unique, i.indisprimary AS primary,
           ARRAY(SELECT a.attname::text
                 FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
                 JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                 WHERE k.place <= i.indnkeyatts ORDER BY k.place) AS keys,
           ARRAY(SELECT a.attname::text FROM pg_attribute a
                 WHERE a.attrelid = i.indrelid AND a.attnum > 0
                   AND (a.attnum = ANY (i.indkey::int2[]) OR EXISTS (
                       SELECT FROM pg_depend d
                       WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
                         AND d.refobjsubid = a.attnum))
                 ORDER BY a.attnum) AS reads
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1 ORDER BY c.relname";

const FOREIGN_KEYS: &str = "
    SELECT f.conname::text AS name, t.relname::text AS target,
           ARRAY(SELECT a.attname::text FROM unnest(f.conkey) WITH ORDINALITY AS k (attnum, place)
                 JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum
                 ORDER BY k.place) AS columns,
           ARRAY(SELECT a.attname::text FROM unnest(f.confkey) WITH ORDINALITY AS k (attnum, place)
                 JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.attnum
                 ORDER BY k.place) AS target_columns
    FROM pg_constraint f JOIN pg_class t ON t.oid = f.confrelid
    WHERE f.conrelid = $1 AND f.contype = 'f' AND f.conparentid = 0 ORDER BY f.conname";

const TRIGGERS: &str = "
    SELECT tgname::text AS name FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal ORDER BY tgname";

const SEQUENCES: &str = "
    SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'S' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY c.relname";

pub async fn read(client: &Client) -> Result<Schema, Error> {
    let mut schema = Schema::default();
    for row in client.query(TABLES, &[]).await? {
        let oid: u32 = row.get("oid");
        schema.tables.push(Table {
            name: row.get("name"),
            comment: row.get("comment"),
            partitioned_by: row.get("partitioned_by"),
            columns: columns(client, oid).await?,
            indexes: indexes(client, oid).await?,
            foreign_keys: foreign_keys(client, oid).await?,
            triggers: client.query(TRIGGERS, &[&oid]).await?.iter().map(|row| row.get("name")).collect(),
        });
    }
    schema.sequences = client.query(SEQUENCES, &[]).await?.iter().map(|row| row.get("name")).collect();
    Ok(schema)
}

async fn columns(client: &Client, table: u32) -> Result<Vec<Column>, Error> {
    let rows = client.query(COLUMNS, &[&table]).await?;
    let column = |row: &tokio_postgres::Row| Column {
        name: row.get("name"),
        kind: row.get("kind"),
        not_null: row.get("not_null"),
        identity: row.get("identity"),
    };
    Ok(rows.iter().map(column).collect())
}

async fn indexes(client: &Client, table: u32) -> Result<Vec<Index>, Error> {
    let rows = client.query(INDEXES, &[&table]).await?;
    let index = |row: &tokio_postgres::Row| Index {
        name: row.get("name"),
        unique: row.get("unique"),
        primary: row.get("primary"),
        keys: row.get("keys"),
        reads: row.get("reads"),
    };
    Ok(rows.iter().map(index).collect())
}

async fn foreign_keys(client: &Client, table: u32) -> Result<Vec<ForeignKey>, Error> {
    let rows = client.query(FOREIGN_KEYS, &[&table]).await?;
    let key = |row: &tokio_postgres::Row| ForeignKey {
        name: row.get("name"),
        columns: row.get("columns"),
        target: row.get("target"),
        target_columns: row.get("target_columns"),
    };
    Ok(rows.iter().map(key).collect())
}
