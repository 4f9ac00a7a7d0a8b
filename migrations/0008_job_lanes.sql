-- Jobs wait in lanes: one per kind, and one per kind and host where strangers choose the host. A lane that stands
-- still delays no other (docs/decisions/0070).

-- The host a job goes to; empty where the kind is the whole lane, and in rows of binaries that know no lanes.
ALTER TABLE job ADD COLUMN destination text NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN enqueued_at timestamptz NOT NULL DEFAULT now();
-- The first of each lane, and the next lane after a given one, are one probe each, however long the lanes are.
CREATE INDEX job_lane ON job (kind, destination, run_at) WHERE parked_at IS NULL;

CREATE TABLE job_pause (
    kind text NOT NULL,
    destination text NOT NULL,
    -- In a row.
    failures integer NOT NULL,
    resume_at timestamptz NOT NULL,
    PRIMARY KEY (kind, destination)
);
COMMENT ON TABLE job_pause IS 'shard: destination. Hosts that fail: nothing is sent there until resume_at. Leaves with the first success.';
