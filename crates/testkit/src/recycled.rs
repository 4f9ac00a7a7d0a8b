//! Databases that are emptied and reused: copying the template's files and removing them costs more processor time than
//! most tests.
//!
//! What a test may have changed besides rows (tables, triggers, functions, privileges) is compared with a fresh copy; a
//! database that differs is dropped.

use std::sync::{Mutex, PoisonError};

use tokio_postgres::Client;

static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The structure of a fresh copy. Every copy of the template has the same object ids.
static SHAPE: Mutex<Option<String>> = Mutex::new(None);

/// An emptied database.
pub fn take() -> Option<String> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

pub fn give_back(name: String) {
    FREE.lock().unwrap_or_else(PoisonError::into_inner).push(name);
}

/// Copies the template's rows to a schema of their own. Run once, in the template itself.
pub const KEEP_ROWS: &str = "
    CREATE SCHEMA kept;
    DO $$ DECLARE one record; BEGIN
        FOR one IN SELECT oid::regclass AS name, relname FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0
        LOOP
            EXECUTE format('CREATE TABLE kept.%I AS TABLE %s', one.relname, one.name);
        END LOOP;
    END $$";

/// Disables the triggers that keep logs append-only: they protect against the service, not against the tests.
const EMPTY: &str = "
    SET session_replication_role = replica;
    DO $$ DECLARE one record; filled text; BEGIN
        SELECT string_agg(oid::regclass::text, ', ') INTO filled FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0;
        IF filled IS NOT NULL THEN EXECUTE 'TRUNCATE ' || filled; END IF;
        FOR one IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'kept'::regnamespace LOOP
            EXECUTE format('INSERT INTO public.%1$I TABLE kept.%1$I', one.relname);
        END LOOP;
    END $$";

const SHAPE_OF: &str = "
    SELECT md5(concat_ws(E'\\n',
        (SELECT string_agg(concat(oid, relname, relkind, relacl, reloptions), ',' ORDER BY oid) FROM pg_class
            WHERE relnamespace IN ('public'::regnamespace, 'kept'::regnamespace)),
        (SELECT string_agg(concat(attrelid, attname, atttypid, attnotnull, atthasdef), ',' ORDER BY attrelid, attnum)
            FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0),
        (SELECT string_agg(concat(oid, tgname, tgenabled), ',' ORDER BY oid) FROM pg_trigger),
        (SELECT string_agg(concat(oid, conname, convalidated), ',' ORDER BY oid) FROM pg_constraint),
        (SELECT string_agg(concat(oid, proname, md5(prosrc)), ',' ORDER BY oid) FROM pg_proc WHERE oid >= 16384),
        (SELECT string_agg(nspname, ',' ORDER BY oid) FROM pg_namespace WHERE nspname !~ '^pg_'),
        (SELECT string_agg(setconfig::text, ',') FROM pg_db_role_setting
            WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))))";

async fn shape(client: &Client) -> Option<String> {
    client.query_one(SHAPE_OF, &[]).await.ok().map(|row| row.get(0))
}

/// Stores the structure of a fresh copy.
pub async fn learn(client: &Client) {
    let known = SHAPE.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    if !known {
        let seen = shape(client).await;
        *SHAPE.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}

/// Ends open connections, empties the tables and restores the template's rows. `false`: drop the database.
pub async fn empty(client: &Client) -> bool {
    let others = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    if client.batch_execute(others).await.is_err() || client.batch_execute(EMPTY).await.is_err() {
        return false;
    }
    let now = shape(client).await;
    let fresh = SHAPE.lock().unwrap_or_else(PoisonError::into_inner);
    now.is_some() && *fresh == now
}
