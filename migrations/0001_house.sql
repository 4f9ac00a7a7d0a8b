-- What the house itself needs: jobs, schedules, signing keys, the first administrator's key.
-- Each table's comment begins with the key it would be sharded by; `xtask tidy` holds the schema to it.

CREATE TABLE job (
    job_id uuid PRIMARY KEY,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    run_at timestamptz NOT NULL DEFAULT now(),
    -- Counted when the job is taken, so that one that kills its node is counted too.
    attempts integer NOT NULL DEFAULT 0,
    leased_by uuid,
    leased_until timestamptz,
    parked_at timestamptz,
    last_error text
);
CREATE INDEX job_due ON job (run_at) WHERE parked_at IS NULL;
COMMENT ON TABLE job IS 'shard: job_id. Work to be done at least once; inserted in the transaction that wants it.';

CREATE TABLE job_outcome (
    job_id uuid PRIMARY KEY,
    kind text NOT NULL,
    attempts integer NOT NULL,
    done_at timestamptz NOT NULL DEFAULT now()
) PARTITION BY RANGE (job_id);
COMMENT ON TABLE job_outcome IS 'shard: job_id. What was done, for a week; leaves by the partition.';

CREATE TABLE schedule (
    name text PRIMARY KEY,
    next_run_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE schedule IS 'shard: replicated. When each recurring job is next due; one row a kind.';

CREATE TABLE signing_key (
    kid text PRIMARY KEY,
    algorithm text NOT NULL,
    state text NOT NULL CHECK (state IN ('next', 'active', 'retiring', 'retired')),
    origin text NOT NULL CHECK (origin IN ('production', 'dev')),
    public_jwk jsonb NOT NULL,
    -- Private key, encrypted under the master key; gone once the key is retired.
    sealed bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    activated_at timestamptz,
    replaced_at timestamptz,
    retired_at timestamptz,
    CHECK ((state = 'retired') = (sealed IS NULL))
);
CREATE UNIQUE INDEX signing_key_one_next ON signing_key (algorithm) WHERE state = 'next';
CREATE UNIQUE INDEX signing_key_one_active ON signing_key (algorithm) WHERE state = 'active';
COMMENT ON TABLE signing_key IS 'shard: replicated. The key rings; a handful of rows.';

CREATE TABLE bootstrap (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    key_hash bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
COMMENT ON TABLE bootstrap IS 'shard: replicated. The one key that makes the first administrator; one row at most.';
