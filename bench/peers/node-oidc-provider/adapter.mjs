// What node-oidc-provider keeps, in PostgreSQL: the methods its documentation ("oidc-provider API documentation",
// adapter) asks for. One table, jsonb, prepared statements (named), a pool; columns beside the document only for what
// is looked up or must be decided in the statement itself.

import pg from 'pg'

export const SCHEMA = `
  CREATE TABLE IF NOT EXISTS oidc_model (
    model text NOT NULL, id text NOT NULL, payload jsonb NOT NULL,
    grant_id text, user_code text, uid text,
    consumed_at timestamptz, expires_at timestamptz,
    PRIMARY KEY (model, id)
  );
  CREATE INDEX IF NOT EXISTS oidc_model_grant ON oidc_model (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS oidc_model_user_code ON oidc_model (user_code) WHERE user_code IS NOT NULL;
  CREATE INDEX IF NOT EXISTS oidc_model_uid ON oidc_model (uid) WHERE uid IS NOT NULL;
`

const STATEMENTS = {
  upsert: `INSERT INTO oidc_model (model, id, payload, grant_id, user_code, uid, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
           ON CONFLICT (model, id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id,
             user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`,
  find: `SELECT payload, extract(epoch FROM consumed_at)::int AS consumed FROM oidc_model
         WHERE model = $1 AND id = $2 AND (expires_at IS NULL OR expires_at > now())`,
  findByUid: `SELECT payload, extract(epoch FROM consumed_at)::int AS consumed FROM oidc_model
              WHERE uid = $2 AND model = $1 AND (expires_at IS NULL OR expires_at > now())`,
  findByUserCode: `SELECT payload, extract(epoch FROM consumed_at)::int AS consumed FROM oidc_model
                   WHERE user_code = $2 AND model = $1 AND (expires_at IS NULL OR expires_at > now())`,
  consume: 'UPDATE oidc_model SET consumed_at = now() WHERE model = $1 AND id = $2',
  destroy: 'DELETE FROM oidc_model WHERE model = $1 AND id = $2',
  revokeByGrantId: 'DELETE FROM oidc_model WHERE grant_id = $2 AND model = $1',
}

export function adapter(pool) {
  const run = (name, values) => pool.query({ name, text: STATEMENTS[name], values })
  const found = async (name, values) => {
    const { rows: [row] } = await run(name, values)
    return row && { ...row.payload, ...(row.consumed && { consumed: row.consumed }) }
  }
  return class Adapter {
    constructor(model) {
      this.model = model
    }

    upsert(id, payload, expiresIn) {
      const { grantId, userCode, uid } = payload
      return run('upsert', [this.model, id, payload, grantId, userCode, uid, expiresIn])
    }

    find(id) {
      return found('find', [this.model, id])
    }

    findByUid(uid) {
      return found('findByUid', [this.model, uid])
    }

    findByUserCode(userCode) {
      return found('findByUserCode', [this.model, userCode])
    }

    consume(id) {
      return run('consume', [this.model, id])
    }

    destroy(id) {
      return run('destroy', [this.model, id])
    }

    revokeByGrantId(grantId) {
      return run('revokeByGrantId', [this.model, grantId])
    }
  }
}

export const pool = (connectionString) => new pg.Pool({ connectionString, max: 10 })
